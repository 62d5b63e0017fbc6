#include "run/scenario.h"

#include <utility>

#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/chip_like.h"

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
  if (!Chip::FromProto(proto.system().chip()).ok()) {
    const std::string hint = SuggestLike(Catalog(), proto.system().chip());
    if (!hint.empty()) violations.Add(fmt::format("system.chip: {}", hint));
  }
  RETURN_IF_ERROR(violations.ToStatus());
  const auto with = [&](auto plan) {
    return ResolvedScenario{std::move(proto), *std::move(model),
                            *std::move(system), *std::move(kernels),
                            std::move(plan)};
  };
  if (proto.has_training()) {
    ASSIGN_OR_RETURN(TrainingPlan plan, TrainingPlan::FromProto(
                                            proto.training(), *model, *system));
    return with(std::move(plan));
  }
  ASSIGN_OR_RETURN(InferencePlan plan, InferencePlan::FromProto(
                                           proto.inference(), *model, *system));
  return with(std::move(plan));
}

}  // namespace orrery
