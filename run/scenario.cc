#include "run/scenario.h"

#include <absl/algorithm/container.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "base/units_text.h"
#include "catalog/catalog.h"
#include "catalog/chip_like.h"
#include "catalog/defaults.h"
#include "catalog/legal.h"
#include "run/measured_beside.h"
#include "run/price_rules.h"
#include "topology/traffic/collective_algorithm.h"

namespace orrery {
namespace {

absl::StatusOr<std::optional<PoolMachine>> PrefillMachine(
    const pb::Inference& proto) {
  const auto& pools = proto.disaggregated();
  if (!pools.has_prefill_system()) return std::nullopt;
  absl::StatusOr<System> system = SystemOf(pools.prefill_system(), proto);
  absl::StatusOr<Kernels> kernels = Kernels::FromProto(pools.prefill_kernels());
  Violations violations;
  constexpr char kPath[] = "inference.disaggregated.prefill_system";
  if (!system.ok()) violations.Add(Annotate(system.status(), kPath));
  if (!kernels.ok()) violations.Add(Annotate(kernels.status(), kPath));
  if (system.ok() && kernels.ok()) {
    violations.Add(kernels->CheckRoomOn(system->chip()));
  }
  RETURN_IF_ERROR(violations.ToStatus());
  return PoolMachine{*std::move(system), *std::move(kernels)};
}

// What the engine's own all-reduce takes on top of the machine's protocol.
absl::Status AddAllReduceOverhead(const pb::Engine& engine,
                                  pb::CollectiveCalibration* library) {
  if (!engine.has_all_reduce_overhead()) return absl::OkStatus();
  const absl::StatusOr<Duration> more =
      ParseDuration(engine.all_reduce_overhead());
  // The plan says what is wrong with it.
  if (!more.ok() || *more <= Duration(0)) return absl::OkStatus();
  for (auto& protocol : *library->mutable_protocol()) {
    if (protocol.use() != pb::CollectiveCalibration::ONE_SHOT) continue;
    ASSIGN_OR_RETURN(
        const Duration base,
        ParseDuration(protocol.has_base_latency() ? protocol.base_latency()
                                                  : library->base_latency()));
    protocol.set_base_latency(ToText(base + *more));
  }
  return absl::OkStatus();
}

// Where nothing is said, and no chip has a default, one line says so.
absl::StatusOr<Kernels> KernelsOf(const pb::Kernels& proto) {
  if (!proto.has_name() && proto.made_for().empty()) {
    return absl::InvalidArgumentError(
        "kernels: not set; write kernels { preset: \"NAME\" } with a name that "
        "'orrery list kernels' shows");
  }
  return Kernels::FromProto(proto);
}

}  // namespace

absl::StatusOr<System> SystemOf(const pb::System& proto,
                                const pb::Inference& inference,
                                std::optional<int> nodes) {
  pb::System system = proto;
  if (nodes && *nodes != proto.nodes()) {
    system.set_nodes(*nodes);
    // A slice of a grid is a grid of its own.
    pb::ScaleUp* scale_up = system.mutable_scale_up();
    const auto reshape = [&](auto* shape, int dimensions) {
      shape->Clear();
      for (const int32_t side :
           EvenShape(int64_t{*nodes} * system.chips_per_node(), dimensions)) {
        shape->Add(side);
      }
    };
    if (scale_up->spans_nodes() && scale_up->fabric().has_torus()) {
      pb::Torus* torus = scale_up->mutable_fabric()->mutable_torus();
      reshape(torus->mutable_shape(), torus->has_dimensions()
                                          ? torus->dimensions()
                                          : torus->shape_size());
    } else if (scale_up->spans_nodes() && scale_up->fabric().has_mesh()) {
      pb::Mesh* mesh = scale_up->mutable_fabric()->mutable_mesh();
      reshape(mesh->mutable_shape(), mesh->shape_size());
    }
    if (!proto.has_scale_up()) system.clear_scale_up();
  }
  // The engine's own all-reduce, where the machine's preset knows its cost.
  const bool known =
      absl::c_any_of(system.collectives().protocol(), [](const auto& p) {
        return p.use() == pb::CollectiveCalibration::ONE_SHOT;
      });
  if (known && inference.engine().custom_all_reduce()) {
    pb::CollectiveCalibration* library = system.mutable_collectives();
    // A library that lists none has all of them.
    if (library->algorithm_size() == 0) {
      for (int i = 0; i < static_cast<int>(kLastCollectiveAlgorithm); ++i) {
        library->add_algorithm(
            std::string(NameOf(static_cast<CollectiveAlgorithm>(i))));
      }
    }
    library->add_algorithm("all_reduce/one_shot");
    RETURN_IF_ERROR(AddAllReduceOverhead(inference.engine(), library));
  }
  return System::FromProto(system);
}

absl::StatusOr<ResolvedScenario> MakeScenario(pb::Scenario proto) {
  Violations violations;
  CheckLegal(proto, "", &violations);
  CheckPrices(proto.cost(), &violations);
  CheckMeasured(proto, &violations);
  // A part with a value that is illegal by itself has been told so, and is read
  // when it is put right.
  const std::vector<std::string> illegal = violations.messages();
  const auto read = [&](absl::string_view part, auto make) {
    auto value = make();
    const std::string path = absl::StrCat(part, ".");
    const bool told = absl::c_any_of(illegal, [&](const std::string& message) {
      return absl::StartsWith(message, path);
    });
    if (!told) violations.Add(value.status());
    return value;
  };
  auto model = read("model", [&] { return Model::FromProto(proto.model()); });
  auto system = read(
      "system", [&] { return SystemOf(proto.system(), proto.inference()); });
  auto kernels = read("kernels", [&] { return KernelsOf(proto.kernels()); });
  if (system.ok() && kernels.ok()) {
    violations.Add(kernels->CheckRoomOn(system->chip()));
  }
  if (!Chip::FromProto(proto.system().chip()).ok()) {
    const std::string hint = SuggestLike(Catalog(), proto.system().chip());
    if (!hint.empty()) violations.Add(fmt::format("system.chip: {}", hint));
  }
  const auto with = [&](auto plan) {
    return ResolvedScenario{std::move(proto), *std::move(model),
                            *std::move(system), *std::move(kernels),
                            std::move(plan)};
  };
  if (proto.has_training()) {
    const auto framework = read(
        "framework", [&] { return Framework::FromProto(proto.framework()); });
    const auto variation = read(
        "variation", [&] { return Variation::FromProto(proto.variation()); });
    RETURN_IF_ERROR(violations.ToStatus());
    ASSIGN_OR_RETURN(TrainingPlan plan,
                     TrainingPlan::FromProto(proto.training(), *model, *system,
                                             *framework, *variation));
    return with(std::move(plan));
  }
  auto prefill =
      read("inference", [&] { return PrefillMachine(proto.inference()); });
  RETURN_IF_ERROR(violations.ToStatus());
  ASSIGN_OR_RETURN(
      InferencePlan plan,
      InferencePlan::FromProto(proto.inference(), *model, *system,
                               *prefill ? &(*prefill)->system : nullptr));
  ResolvedScenario scenario = with(std::move(plan));
  scenario.prefill = *std::move(prefill);
  return scenario;
}

}  // namespace orrery
