#include "run/scenario.h"

#include <utility>

#include "base/status.h"

namespace orrery {

absl::StatusOr<ResolvedScenario> MakeScenario(pb::Scenario proto) {
  absl::StatusOr<Model> model = Model::FromProto(proto.model());
  absl::StatusOr<System> system = System::FromProto(proto.system());
  Violations violations;
  violations.Add(model.status());
  violations.Add(system.status());
  RETURN_IF_ERROR(violations.ToStatus());

  ResolvedScenario scenario{.proto = std::move(proto),
                            .model = *std::move(model),
                            .system = *std::move(system),
                            .training = {},
                            .inference = {}};
  if (scenario.proto.has_training()) {
    ASSIGN_OR_RETURN(scenario.training,
                     TrainingPlan::FromProto(scenario.proto.training(),
                                             scenario.model, scenario.system));
  } else {
    ASSIGN_OR_RETURN(scenario.inference,
                     InferencePlan::FromProto(scenario.proto.inference(),
                                              scenario.model, scenario.system));
  }
  return scenario;
}

}  // namespace orrery
