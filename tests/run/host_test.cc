// The host as a stream that runs ahead of the chip.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

ResolvedScenario Quickstart(std::vector<std::string> sets) {
  auto proto = ResolveScenario(Catalog(), "quickstart", sets);
  CHECK(proto.ok()) << proto.status().ToString();
  auto scenario = MakeScenario(*std::move(proto));
  CHECK(scenario.ok()) << scenario.status().ToString();
  return *std::move(scenario);
}

// A host that needs ten times as long as the chip sets the pace: the step is
// its launches, and what the first and the last pass add.
TEST(Host, AStepIsNeverFasterThanItsLaunches) {
  const ResolvedScenario scenario = Quickstart({"framework.dispatch=2 ms"});
  ASSERT_OK_AND_ASSIGN(const SimulatedRun run, RunScenario(scenario, {}));
  Duration host{};
  for (const RoleWork& work : run.placed.work) host = std::max(host, work.host);
  EXPECT_GT(host, Duration(0));
  EXPECT_GE(run.result.end.time_since_epoch(), host);
  EXPECT_GT(run.breakdown.host, Duration(0));
  EXPECT_EQ(run.breakdown.total(), run.result.end.time_since_epoch());
  EXPECT_TRUE(run.bounds.Hold(run.result.end));
}

// One that is always ahead costs nothing but the start of a pass.
TEST(Host, AFastHostDoesNotShow) {
  ASSERT_OK_AND_ASSIGN(const SimulatedRun without,
                       RunScenario(Quickstart({}), {}));
  ASSERT_OK_AND_ASSIGN(
      const SimulatedRun with,
      RunScenario(Quickstart({"framework.dispatch=1 ns"}), {}));
  constexpr double kStart = 1e-3;
  EXPECT_NEAR(ToSeconds(with.result.end), ToSeconds(without.result.end),
              kStart * ToSeconds(without.result.end));
}

// A host that waits for every kernel holds the chip up for every launch: each
// rank's kernels and launches stand one after the other. Of the first rank's
// 4 micro-batches none can hide behind another.
TEST(Host, BlockingLaunchesAddUp) {
  const auto run = [](std::vector<std::string> sets) {
    sets.emplace_back("training.overlap_gradient_reduction=false");
    auto result = RunScenario(Quickstart(sets), {.detail = false});
    CHECK(result.ok()) << result.status().ToString();
    return *std::move(result);
  };
  const SimulatedRun ahead = run({"framework.dispatch=100 us"});
  const SimulatedRun free = run({});
  const SimulatedRun blocked =
      run({"framework.dispatch=100 us", "framework.blocking_launches=true"});
  Duration host{};
  for (const RoleWork& work : ahead.placed.work) {
    host = std::max(host, work.host);
  }
  EXPECT_TRUE(blocked.bounds.Hold(blocked.result.end));
  // No less than the launches of one rank, and no more than those of all its
  // pipeline's ranks.
  EXPECT_GE(blocked.result.end - free.result.end, host);
  EXPECT_EQ(blocked.breakdown.total(), blocked.result.end.time_since_epoch());
}

TEST(Host, TheClosedFormKnowsBlockingLaunches) {
  constexpr double kNear = 0.02;
  const ResolvedScenario scenario = Quickstart(
      {"framework.dispatch=100 us", "framework.blocking_launches=true"});
  ASSERT_OK_AND_ASSIGN(const SimulatedRun run,
                       RunScenario(scenario, {.detail = false}));
  ASSERT_OK_AND_ASSIGN(const StepEstimate estimate, EstimateScenario(scenario));
  EXPECT_NEAR(estimate.step_s() / ToSeconds(run.result.end), 1, kNear);
}

// On one stage nothing is received, whatever the loss exchanges between tensor
// ranks: a host that waits for what it receives waits for nothing.
TEST(Host, WaitsForOtherStagesOnly) {
  const auto step = [](const char* waits) {
    const auto run = RunScenario(
        Quickstart({"framework.dispatch=100 us", "training.parallel.pipeline=1",
                    "training.parallel.tensor=8", "training.parallel.data=4",
                    std::string("framework.host_waits_for_receive=") + waits}),
        {.waited = DimensionSet::All()});
    CHECK(run.ok()) << run.status().ToString();
    return run->result.end;
  };
  EXPECT_EQ(step("true"), step("false"));
}

// Hosts that compare a call with all ranks of its group: twice the ranks, twice
// the time.
TEST(Host, ComparesCallsRankByRank) {
  const auto host = [](int tensor, const char* check) {
    const auto run = RunScenario(
        Quickstart({"framework.dispatch=100 us",
                    std::string("framework.collective_check=") + check,
                    "training.parallel.pipeline=1", "training.parallel.data=4",
                    "training.global_batch=64",
                    "system.nodes=" + std::to_string(tensor / 2),
                    "training.parallel.tensor=" + std::to_string(tensor)}),
        {.detail = false});
    CHECK(run.ok()) << run.status().ToString();
    Duration longest{};
    for (const RoleWork& work : run->placed.work) {
      longest = std::max(longest, work.host);
    }
    return longest;
  };
  const auto added = [&](int tensor) {
    return host(tensor, "300 us") - host(tensor, "100 us");
  };
  EXPECT_GT(added(2), Duration(0));
  EXPECT_GT(added(4), added(2));
  // What data ranks compare is the same in all three.
  EXPECT_EQ(added(8) - added(4), 2 * (added(4) - added(2)));
}

// Also before what is outside of layers, on the way of those calls; every
// moment of the step is accounted for, and the closed form knows it.
TEST(Host, ComparesCallsOfReductionsToo) {
  constexpr double kExact = 0.001;
  for (const char* sharding : {"ZERO_0", "ZERO_1", "ZERO_3"}) {
    const ResolvedScenario scenario = Quickstart(
        {"framework.dispatch=20 us", "framework.collective_check=2 ms",
         std::string("training.sharding=") + sharding});
    ASSERT_OK_AND_ASSIGN(const SimulatedRun run, RunScenario(scenario, {}));
    EXPECT_EQ(run.breakdown.total(), run.result.end.time_since_epoch())
        << sharding;
    EXPECT_TRUE(run.bounds.Hold(run.result.end)) << sharding;
    ASSERT_OK_AND_ASSIGN(
        const SimulatedRun serial,
        RunScenario(scenario, {.fidelity = Fidelity::kClosedForm,
                               .detail = false,
                               .waited = DimensionSet::All(),
                               .chip_sharing = false}));
    ASSERT_OK_AND_ASSIGN(const StepEstimate estimate,
                         EstimateScenario(scenario, DimensionSet::All(),
                                          OthersAt(Fidelity::kClosedForm)));
    EXPECT_NEAR(estimate.step_s() / ToSeconds(serial.result.end), 1, kExact)
        << sharding;
  }
}

TEST(Host, FoldsToThePicosecond) {
  const ResolvedScenario scenario = Quickstart({"framework.dispatch=100 us"});
  ASSERT_OK_AND_ASSIGN(const SimulatedRun folded,
                       RunScenario(scenario, {.detail = false}));
  ASSERT_OK_AND_ASSIGN(const SimulatedRun whole,
                       RunScenario(scenario, {.fold = false, .detail = false}));
  EXPECT_LT(folded.placed.program.ranks().size(),
            whole.placed.program.ranks().size());
  EXPECT_EQ(folded.result.end, whole.result.end);
}

// The closed form takes the longer of host and chip per pass; what it leaves
// out is where a pass waits for the host only at its end.
TEST(Host, TheClosedFormKnowsIt) {
  constexpr double kNear = 0.1;
  for (const char* dispatch : {"20 us", "2 ms"}) {
    const ResolvedScenario scenario =
        Quickstart({std::string("framework.dispatch=") + dispatch});
    ASSERT_OK_AND_ASSIGN(const SimulatedRun run,
                         RunScenario(scenario, {.detail = false}));
    ASSERT_OK_AND_ASSIGN(const StepEstimate estimate,
                         EstimateScenario(scenario));
    EXPECT_NEAR(estimate.step_s() / ToSeconds(run.result.end), 1, kNear)
        << dispatch;
  }
}

// Twice the spread, twice what the slowest adds; none, nothing.
TEST(Variation, IsWhatTheScenarioSays) {
  const auto step = [](const char* spread) {
    const auto run = RunScenario(
        Quickstart({std::string("variation.device_spread=") + spread,
                    "variation.pass_jitter=0"}),
        {.detail = false});
    CHECK(run.ok()) << run.status().ToString();
    return ToSeconds(run->result.end);
  };
  const double none = step("0");
  const double one = step("0.01") - none;
  const double two = step("0.02") - none;
  EXPECT_GT(one, 0.01 * none);
  constexpr double kLinear = 0.05;  // communication does not stretch
  EXPECT_NEAR(two / one, 2, kLinear);
}

}  // namespace
}  // namespace orrery
