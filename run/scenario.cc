#include "run/scenario.h"

#include <absl/algorithm/container.h>

#include <utility>

#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "catalog/chip_like.h"
#include "topology/traffic/collective_algorithm.h"

namespace orrery {

absl::StatusOr<System> SystemOf(const pb::Scenario& proto,
                                std::optional<int> nodes) {
  pb::System system = proto.system();
  if (nodes) system.set_nodes(*nodes);
  // The engine's own all-reduce, where the machine's preset knows its cost.
  pb::CollectiveCalibration* library = system.mutable_collectives();
  const bool known = absl::c_any_of(library->protocol(), [](const auto& p) {
    return p.use() == pb::CollectiveCalibration::ONE_SHOT;
  });
  if (known && proto.inference().engine().custom_all_reduce()) {
    // A library that lists none has all of them.
    if (library->algorithm_size() == 0) {
      for (int i = 0; i < static_cast<int>(kLastCollectiveAlgorithm); ++i) {
        library->add_algorithm(
            std::string(NameOf(static_cast<CollectiveAlgorithm>(i))));
      }
    }
    library->add_algorithm("all_reduce/one_shot");
  }
  return System::FromProto(system);
}

absl::StatusOr<ResolvedScenario> MakeScenario(pb::Scenario proto) {
  absl::StatusOr<Model> model = Model::FromProto(proto.model());
  absl::StatusOr<System> system = SystemOf(proto);
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
