#include "run/scenario.h"

#include <utility>

#include "base/status.h"

namespace orrery {

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
  const auto with = [&](auto plan) {
    return ResolvedScenario{std::move(proto), *std::move(model),
                            *std::move(system), *std::move(kernels),
                            std::move(plan)};
  };
  if (proto.has_training()) {
    ASSIGN_OR_RETURN(const Framework framework,
                     Framework::FromProto(proto.framework()));
    ASSIGN_OR_RETURN(const Variation variation,
                     Variation::FromProto(proto.variation()));
    ASSIGN_OR_RETURN(TrainingPlan plan,
                     TrainingPlan::FromProto(proto.training(), *model, *system,
                                             framework, variation));
    return with(std::move(plan));
  }
  ASSIGN_OR_RETURN(InferencePlan plan, InferencePlan::FromProto(
                                           proto.inference(), *model, *system));
  return with(std::move(plan));
}

}  // namespace orrery
