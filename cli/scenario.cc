#include "cli/scenario.h"

#include <utility>

#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"

namespace orrery {

Flag SetFlag() {
  return {.name = "set",
          .value = "PATH=VALUE",
          .help = "override a field, e.g. training.parallel.tensor=4",
          .repeated = true};
}

absl::StatusOr<ResolvedScenario> LoadScenario(const Arguments& arguments) {
  ASSIGN_OR_RETURN(pb::Scenario proto,
                   ResolveScenario(Catalog(), arguments.positional()[0],
                                   arguments.All("set")));
  return MakeScenario(std::move(proto));
}

absl::StatusOr<ResolvedScenario> MakeScenario(pb::Scenario proto) {
  absl::StatusOr<Model> model = Model::FromProto(proto.model());
  absl::StatusOr<System> system = System::FromProto(proto.system());
  absl::StatusOr<Kernels> kernels = Kernels::FromProto(proto.kernels());
  Violations violations;
  violations.Add(model.status());
  violations.Add(system.status());
  violations.Add(kernels.status());
  if (system.ok() && kernels.ok()) {
    violations.Add(kernels->CheckRoomOn(system->chip()));
  }
  RETURN_IF_ERROR(violations.ToStatus());

  ResolvedScenario scenario{.proto = std::move(proto),
                            .model = *std::move(model),
                            .system = *std::move(system),
                            .kernels = *std::move(kernels),
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
