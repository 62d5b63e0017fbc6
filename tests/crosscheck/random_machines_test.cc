// Random plans on random machines: trees whose counts do not divide, tapers,
// shared NICs, direct networks, fabrics of other kinds. Folded runs equal
// unfolded ones to the picosecond, or folding is refused; and with nothing
// overlapping or shared, the closed form is the simulation.
#include <gtest/gtest.h>

#include <bit>

#include "analytic/step/step_estimate.h"
#include "base/format.h"
#include "base/random.h"
#include "catalog/resolve.h"
#include "run/training_run.h"
#include "tests/catalog/presets.h"
#include "tests/effort.h"
#include "tests/workload/plan/plans.h"

namespace orrery {
namespace {

constexpr char kThinDense[] =
    "name: 'thin' layers: 4 hidden: 2048 mlp { width: 6144 } "
    "attention { heads: 16 kv_heads: 8 head_dimension: 128 }";
constexpr char kThinExperts[] =
    "name: 'thin experts' layers: 4 hidden: 2048 mlp { width: 6144 } "
    "attention { heads: 16 kv_heads: 8 head_dimension: 128 } "
    "moe { experts: 16 experts_per_token: 2 expert_width: 2048 "
    "activation: SWIGLU }";

struct Machine {
  const char* preset;
  int chips_per_node;
  bool tree;  // scale-out can be given another fabric
};
constexpr Machine kMachines[] = {
    {"dgx_h100_ib400", 8, true}, {"dgx_h100_ib400", 8, true},
    {"a100_opa100x4", 8, true},  {"azure_nd_a100_v4", 8, true},
    {"mi300x_8x400", 8, true},   {"tpu_v5e_pod", 8, false},
    {"tpu_v5p_pod", 4, false},
};

constexpr Machine kStock[] = {
    {"dgx_h100_ib400", 8, true},   {"a100_opa100x4", 8, true},
    {"azure_nd_a100_v4", 8, true}, {"dgx_a100_hdr200", 8, true},
    {"dgx_b200", 8, true},         {"gb200_nvl72", 72, true},
    {"h20_ib400", 8, true},        {"h200_ib400", 8, true},
    {"aws_p5_efa", 8, true},       {"h800_ib400", 8, true},
    {"mi300x_8x400", 8, true},     {"mi355x_8x400", 8, true},
    {"tpu_v4_pod", 4, false},      {"tpu_v5e_pod", 8, false},
    {"tpu_v5p_pod", 4, false},     {"tpu_v6e_pod", 8, false},
    {"tpu_v7x_pod", 4, false},
};

template <class T>
const T& Pick(Rng& rng, const std::vector<T>& items) {
  return items[rng.Below(items.size())];
}

std::string RandomFabric(Rng& rng, int nics) {
  const int radix = Pick<int>(rng, {8, 12, 16, 32, 64});
  const double taper = Pick<double>(rng, {1, 1, 1, 1.5, 2, 3});
  std::vector<std::string> fabrics = {
      fmt::format("fat_tree {{ radix: {} taper: {} }}", radix, taper),
      fmt::format("fat_tree {{ radix: {} taper: {} }}", radix, taper),
      fmt::format("rail_optimized {{ radix: {} taper: {} }}", radix, taper),
      fmt::format("rail_only {{ radix: {} }}", radix),
      "dragonfly { hosts_per_router: 4 routers_per_group: 4 "
      "globals_per_router: 2 }",
      "switch { planes: 2 links_per_endpoint: 2 }",
      fmt::format("hyperx {{ shape: {} shape: 2 hosts_per_router: 2 }}",
                  nics / 4)};
  return Pick(rng, fabrics);
}

struct Case {
  TrainingCase made;
  std::string description;
};

// Nothing if the machine cannot be built or does not take the plan. `stock`: a
// machine of the catalogue as it is.
std::optional<Case> RandomCase(uint64_t seed, bool stock) {
  Rng rng(seed, "random machines");
  const Machine& machine = stock ? kStock[rng.Below(std::size(kStock))]
                                 : kMachines[rng.Below(std::size(kMachines))];
  const int nodes = static_cast<int>(rng.Between(2, 8));
  std::vector<std::string> overrides = {fmt::format("system.nodes={}", nodes)};
  if (!stock && machine.tree && rng.Below(4) > 0) {
    const int nics =
        nodes * (machine.preset[0] == 'a' && machine.preset[1] == '1' ? 4 : 8);
    overrides.push_back(fmt::format(
        "system.scale_out.fabric={{ link {{ name: \"L\" bandwidth: \"25 GB/s\" "
        "latency: \"{} us\" }} {} routing: SPRAY }}",
        Pick<int>(rng, {0, 1, 9}), RandomFabric(rng, nics)));
  }
  const int chips = nodes * machine.chips_per_node;
  const bool experts = rng.Below(3) == 0;
  const int tensor = Pick<int>(rng, {1, 2, 4, 8});
  const int pipeline = Pick<int>(rng, {1, 1, 2, 4});
  const int context = Pick<int>(rng, {1, 1, 2});
  if (chips % (tensor * pipeline * context) != 0) return std::nullopt;
  const int data = chips / (tensor * pipeline * context);
  const int expert = experts ? Pick<int>(rng, {1, 2, 4, 8}) : 1;
  const std::string plan = fmt::format(
      "parallel {{ tensor: {} pipeline: {} context: {} expert: {} "
      "sequence_parallel: {} }} global_batch: {} sharding: ZERO_{} "
      "sequence: 2048",
      tensor, pipeline, context, expert, tensor > 1 ? "true" : "false",
      data * pipeline, rng.Below(4));
  Case result{
      .made = {MakeModel(kSmallDense, experts ? kThinExperts : kThinDense),
               MakeCase("").system, MakeCase("").plan},
      .description = fmt::format("seed {}: {} [{}] {}", seed, machine.preset,
                                 fmt::join(overrides, ", "), plan)};
  auto proto = ResolveSystem(Catalog(), machine.preset, overrides);
  if (!proto.ok()) return std::nullopt;
  auto system = System::FromProto(*proto);
  if (!system.ok()) return std::nullopt;
  pb::Training training, over;
  CHECK(
      google::protobuf::TextFormat::ParseFromString(kCaseTraining, &training));
  CHECK(google::protobuf::TextFormat::ParseFromString(plan, &over));
  training.MergeFrom(over);
  training.mutable_parallel()->set_data(data);
  auto made = TrainingPlan::FromProto(training, result.made.model, *system);
  if (!made.ok()) return std::nullopt;
  result.made.system = *std::move(system);
  result.made.plan = *std::move(made);
  return result;
}

absl::StatusOr<SimulatedRun> RunCase(const TrainingCase& c,
                                     const Network& network, bool fold) {
  const Kernels kernels = PresetKernels(c.system.chip().name());
  return RunTraining({c.model, c.system, kernels, network}, c.plan,
                     {.fold = fold, .detail = false});
}

TEST(RandomMachines, FoldedEqualsUnfoldedOrIsRefused) {
  int folded = 0;
  int refused = 0;
  for (int seed = 0; seed < Rounds(240); ++seed) {
    const std::optional<Case> c =
        RandomCase(static_cast<uint64_t>(seed), false);
    if (!c) continue;
    SCOPED_TRACE(c->description);
    const auto network = Network::Make(c->made.system);
    if (!network.ok()) continue;
    const auto one = RunCase(c->made, *network, true);
    ASSERT_TRUE(one.ok()) << one.status().ToString();
    if (!one->placed.folded) {
      ++refused;
      EXPECT_NE(one->asymmetry, "");
      continue;
    }
    ++folded;
    const auto all = RunCase(c->made, *network, false);
    ASSERT_TRUE(all.ok()) << all.status().ToString();
    EXPECT_EQ(one->result.end, all->result.end);
  }
  RecordProperty("folded", folded);
  RecordProperty("refused", refused);
  // Refusing everything would be no test.
  EXPECT_GT(folded, refused / 4);
}

TEST(RandomMachines, TheClosedFormIsTheSimulationWithNothingShared) {
  // Of the step; rounding to picoseconds and sums in another order.
  constexpr double kSame = 1e-3;
  int checked = 0;
  for (int seed = 0; seed < Rounds(150); ++seed) {
    const std::optional<Case> c = RandomCase(static_cast<uint64_t>(seed), true);
    if (!c) continue;
    SCOPED_TRACE(c->description);
    const TrainingCase& made = c->made;
    // On grids whose sides are no powers of two the forms of calls are
    // approximations for groups that fill part of one.
    if (made.system.scale_up()->spans_nodes &&
        !std::has_single_bit(static_cast<unsigned>(made.system.nodes()))) {
      continue;
    }
    const auto network = Network::Make(made.system);
    if (!network.ok()) continue;
    const Kernels kernels = PresetKernels(made.system.chip().name());
    const auto run =
        RunTraining({made.model, made.system, kernels, *network}, made.plan,
                    {.fidelity = Fidelity::kClosedForm,
                     .waited = DimensionSet::All(),
                     .chip_sharing = false});
    ASSERT_TRUE(run.ok()) << run.status().ToString();
    auto estimator =
        StepEstimator::Create(made.model, made.system, kernels, Others::kNone);
    ASSERT_TRUE(estimator.ok());
    EXPECT_NEAR(estimator->Estimate(made.plan, {.waited = DimensionSet::All()})
                        .step_s() /
                    ToSeconds(run->result.end),
                1, kSame);
    ++checked;
  }
  EXPECT_GT(checked, Rounds(150) / 4);
}

}  // namespace
}  // namespace orrery
