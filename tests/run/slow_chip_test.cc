// One chip that computes slower than others: the step waits for it, and it does
// not unfold a machine. Folded and whole runs agree to the picosecond, and the
// closed form knows who waits for whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::HasSubstr;

ResolvedScenario Make(const char* name, std::vector<std::string> fields) {
  auto proto = ResolveScenario(Catalog(), name, fields);
  CHECK(proto.ok()) << proto.status().ToString();
  auto scenario = MakeScenario(*std::move(proto));
  CHECK(scenario.ok()) << scenario.status().ToString();
  return *std::move(scenario);
}

SimulatedRun Simulated(const ResolvedScenario& scenario,
                       RunOptions options = {}) {
  options.detail = false;
  auto run = RunScenario(scenario, options);
  CHECK(run.ok()) << run.status().ToString();
  return *std::move(run);
}

const char kChip5[] = "system.slow_chip={chip: 5 slowdown: 1.25}";

// Nothing hides and nothing is passed on: every rank computes, then all reduce.
// A chip that takes a quarter longer makes the step longer by a quarter of what
// it computes, and by nothing else.
TEST(SlowChip, AddsWhatItsKernelsTakeLonger) {
  const std::vector<std::string> plan = {
      "training.parallel.tensor=1",
      "training.parallel.pipeline=1",
      "training.sharding=ZERO_0",
      "training.parallel.sequence_parallel=false",
      "training.recompute=RECOMPUTE_FULL",
      "model.layers=4"};
  std::vector<std::string> slow = plan;
  slow.emplace_back(kChip5);
  const RunOptions serial = {.fidelity = Fidelity::kClosedForm,
                             .waited = DimensionSet::All(),
                             .chip_sharing = false};
  const SimulatedRun even = Simulated(Make("quickstart", plan), serial);
  const SimulatedRun run = Simulated(Make("quickstart", slow), serial);
  const double kernels = ToSeconds(even.placed.work[RoleId{}].total());
  EXPECT_NEAR(ToSeconds(run.result.end) - ToSeconds(even.result.end),
              0.25 * kernels, 1e-6 * kernels);
  // What is added stands apart, and the slow rank speaks for the run.
  const Duration more = run.breakdown.kernels.slow_chip;
  EXPECT_NEAR(ToSeconds(more), 0.25 * ToSeconds(even.breakdown.kernels.total()),
              1e-6 * kernels);
  EXPECT_EQ(run.placed.program.ranks()[run.busiest].number, 5);
}

// Kernels take twice as long; the host that starts them does not.
TEST(SlowChip, HasAHostAsFastAsOthers) {
  const std::vector<std::string> slow_host = {"framework.dispatch=2 ms"};
  std::vector<std::string> both = slow_host;
  both.emplace_back("system.slow_chip={chip: 0 slowdown: 1.1}");
  const SimulatedRun even = Simulated(Make("quickstart", slow_host));
  const SimulatedRun run = Simulated(Make("quickstart", both));
  // The host sets the pace: what chip 0 adds is next to nothing.
  EXPECT_LT(ToSeconds(run.result.end), 1.02 * ToSeconds(even.result.end));
  EXPECT_GE(run.result.end, even.result.end);
}

// quickstart: TP 4, PP 2, DP 4. Of each stage four kinds of ranks: at the place
// of the slow chip in a tensor group or not, in its replica or another.
TEST(SlowChip, IsFoldedAroundToThePicosecond) {
  const struct {
    const char* name;
    const char* scenario;
    size_t ranks;  // 0: any
    std::vector<std::string> fields;
  } cases[] = {
      {"one", "quickstart", 8, {kChip5}},
      {"sharded", "quickstart", 8, {kChip5, "training.sharding=ZERO_3"}},
      {"data only",
       "quickstart",
       2,
       {kChip5, "training.parallel.tensor=1", "training.parallel.pipeline=1"}},
      {"many replicas",
       "quickstart",
       8,
       {kChip5, "system.nodes=16", "training.global_batch=256"}},
      {"and a slow link",
       "quickstart",
       0,
       {kChip5, "system.fault={from: 3 remaining: 0.5}", "system.nodes=8",
        "training.global_batch=128"}},
      {"experts", "mixtral_8x7b_5d", 0, {kChip5}},
      {"inference",
       "llama2_70b_inference",
       0,
       {"system.slow_chip={chip: 1 slowdown: 1.25}"}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const ResolvedScenario scenario = Make(c.scenario, c.fields);
    const SimulatedRun run = Simulated(scenario);
    const SimulatedRun whole = Simulated(scenario, {.fold = false});
    EXPECT_TRUE(run.placed.folded) << run.asymmetry;
    if (c.ranks > 0) {
      EXPECT_EQ(run.placed.program.ranks().size(), c.ranks);
    }
    EXPECT_EQ(run.result.end, whole.result.end);
    EXPECT_TRUE(run.bounds.Hold(run.result.end));
    EXPECT_TRUE(whole.bounds.Hold(whole.result.end));
  }
}

// Two slow chips in other stages of other replicas are not as slow as both in
// one pipeline would be; ranks tell.
TEST(SlowChip, TheClosedFormKnowsWhoWaits) {
  for (const char* scenario :
       {"quickstart", "mixtral_8x7b_5d", "llama2_70b_inference"}) {
    for (const std::vector<std::string>& fields :
         std::vector<std::vector<std::string>>{
             {"system.slow_chip={chip: 1 slowdown: 1.25}"},
             {"system.slow_chip={chip: 0 slowdown: 1.5}",
              "system.slow_chip={chip: 7 slowdown: 1.1}"}}) {
      SCOPED_TRACE(scenario);
      const ResolvedScenario slow = Make(scenario, fields);
      const SimulatedRun run =
          Simulated(slow, {.fidelity = Fidelity::kClosedForm,
                           .waited = DimensionSet::All(),
                           .chip_sharing = false});
      ASSERT_OK_AND_ASSIGN(
          const StepEstimate estimate,
          EstimateScenario(slow, DimensionSet::All(), Others::kNone));
      const double step = ToSeconds(run.result.end);
      constexpr double kExact = 1e-3;
      EXPECT_NEAR(estimate.step_s(), step, kExact * step);
    }
  }
}

// A stage of a bidirectional pipeline is on two ranks; the slower one counts,
// also where calls overlap.
TEST(SlowChip, IsKnownToEveryScheduleOnPaper) {
  for (const char* schedule : {"ONE_F_ONE_B", "GPIPE", "ZB_H1", "DUAL_PIPE"}) {
    SCOPED_TRACE(schedule);
    const ResolvedScenario slow = Make(
        "quickstart", {"training.parallel.tensor=1",
                       "training.parallel.sequence_parallel=false",
                       "training.virtual_stages=1", "training.sharding=ZERO_1",
                       std::string("training.schedule=") + schedule,
                       "system.slow_chip={chip: 1 slowdown: 5}"});
    ASSERT_OK_AND_ASSIGN(const StepEstimate estimate, EstimateScenario(slow));
    const double step = ToSeconds(Simulated(slow).result.end);
    EXPECT_NEAR(estimate.step_s(), step, 0.05 * step);
  }
}

TEST(SlowChip, IsAChipOfTheMachineAndSlow) {
  const auto refusal = [](std::vector<std::string> fields) {
    auto proto = ResolveScenario(Catalog(), "quickstart", fields);
    if (!proto.ok()) return std::string(proto.status().message());
    return std::string(MakeScenario(*std::move(proto)).status().message());
  };
  EXPECT_THAT(refusal({"system.slow_chip={chip: 32 slowdown: 2}"}),
              HasSubstr("system.slow_chip[0].chip"));
  EXPECT_THAT(refusal({"system.slow_chip={chip: 3 slowdown: 0.5}"}),
              HasSubstr("system.slow_chip[0].slowdown"));
  EXPECT_THAT(refusal({"system.slow_chip={chip: 3}"}),
              HasSubstr("system.slow_chip[0].slowdown"));
  EXPECT_THAT(refusal({"system.slow_chip={chip: 3 slowdown: 2}, {chip: 3 "
                       "slowdown: 1.5}"}),
              HasSubstr("chip 3 is there twice"));
}

}  // namespace
}  // namespace orrery
