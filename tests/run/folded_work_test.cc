// What a machine does in a step, and so its energy, is what all its ranks do:
// one that was simulated for many counts for all of them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "run/scenario_cost.h"
#include "tests/status_matchers.h"
#include "tests/storm/work_laws.h"

namespace orrery {
namespace {

struct WorkCase {
  const char* name;
  const char* scenario;
  std::vector<std::string> fields;
};

absl::StatusOr<ResolvedScenario> Make(const WorkCase& c) {
  absl::StatusOr<pb::Scenario> proto =
      ResolveScenario(Catalog(), c.scenario, c.fields);
  if (!proto.ok()) return proto.status();
  return MakeScenario(*std::move(proto));
}

class FoldedWork : public testing::TestWithParam<WorkCase> {};

TEST_P(FoldedWork, IsThatOfTheWholeMachine) {
  ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario, Make(GetParam()));
  for (const Fidelity fidelity : {Fidelity::kFluid, Fidelity::kClosedForm}) {
    ASSERT_OK_AND_ASSIGN(
        const SimulatedRun folded,
        RunScenario(scenario, {.fidelity = fidelity, .detail = false}));
    ASSERT_TRUE(folded.placed.folded) << folded.asymmetry;
    ASSERT_OK_AND_ASSIGN(
        const SimulatedRun whole,
        RunScenario(scenario,
                    {.fidelity = fidelity, .fold = false, .detail = false}));
    EXPECT_EQ(WhyOtherWork(folded, whole), std::nullopt);
    EXPECT_GT(WorkOf(folded).link_bytes, 0);
  }
}

// Bytes are the calls', at whatever fidelity they move.
TEST_P(FoldedWork, IsTheSameAtEveryFidelity) {
  ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario, Make(GetParam()));
  ASSERT_OK_AND_ASSIGN(const SimulatedRun fluid,
                       RunScenario(scenario, {.detail = false}));
  ASSERT_OK_AND_ASSIGN(const SimulatedRun closed,
                       RunScenario(scenario, {.fidelity = Fidelity::kClosedForm,
                                              .detail = false}));
  const double bytes = WorkOf(fluid).link_bytes;
  EXPECT_NEAR(WorkOf(closed).link_bytes, bytes, 1e-9 * bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Scenarios, FoldedWork,
    testing::Values(
        WorkCase{"QuickStart", "quickstart", {}},
        WorkCase{"Pipeline", "deep_pipeline", {}},
        WorkCase{"LeavesOfTwoNodes",
                 "quickstart",
                 {"system.nodes=8", "training.global_batch=64",
                  "training.parallel.pipeline=2",
                  "system.scale_out.fabric.fat_tree.radix=32",
                  "system.scale_out.fabric.fat_tree.taper=1"}},
        WorkCase{"Experts", "mixtral_8x7b_128", {}},
        WorkCase{"UnevenExperts",
                 "mixtral_8x7b_128",
                 {"training.expert_imbalance=1.5"}},
        WorkCase{"Sharded",
                 "quickstart",
                 {"system.nodes=4", "training.global_batch=64",
                  "training.sharding=ZERO_3"}},
        WorkCase{"Torus",
                 "quickstart",
                 {"system.preset=tpu_v5p_pod", "system.nodes=16",
                  "training.parallel.tensor=4", "training.global_batch=64",
                  "training.sharding=ZERO_3"}},
        WorkCase{
            "Slices",
            "quickstart",
            {"system.preset=tpu_v5e_multislice", "system.nodes=4",
             "system.chips_per_node=16", "system.scale_out.nics_per_node=16",
             "training.parallel.tensor=4", "training.global_batch=128"}},
        WorkCase{"FullMesh",
                 "quickstart",
                 {"system.preset=mi300x_8x400", "system.nodes=4",
                  "training.global_batch=64"}},
        WorkCase{"Requests", "llama2_70b_inference", {}}),
    [](const auto& one) { return std::string(one.param.name); });

// On a torus every link is a chip's: what calls send is what links carry. A
// fluid call keeps the last of 1024 segments for the time it takes to drain.
TEST(BytesSent, AreThoseThatLinksCarry) {
  ASSERT_OK_AND_ASSIGN(
      const ResolvedScenario scenario,
      Make({"",
            "quickstart",
            {"system.preset=tpu_v5p_pod", "system.nodes=4",
             "training.parallel.tensor=4", "training.global_batch=16",
             "training.sharding=ZERO_3"}}));
  ASSERT_OK_AND_ASSIGN(const SimulatedRun run,
                       RunScenario(scenario, {.fold = false, .detail = false}));
  double carried = 0;
  for (const ResourceId link : run.result.carried.ids()) {
    for (const ResourceClass& c : run.transfers.resource_classes[link]) {
      carried += run.result.carried[link] * static_cast<double>(c.count);
    }
  }
  const double sent = WorkOf(run).link_bytes;
  EXPECT_LE(carried, sent * (1 + 1e-9));
  EXPECT_GE(carried, sent * (1 - 2.0 / 1024));
}

}  // namespace
}  // namespace orrery
