// A step of many micro-batches from steps of few, against the whole step.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "run/training_run.h"
#include "sim/network/call_planner.h"
#include "sim/network/network.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

ResolvedScenario Small(std::vector<std::string> sets) {
  const std::string text = R"(name: "small"
    model { preset: "gpt_22b" layers: 8 }
    system { preset: "dgx_h100_ib400" nodes: 2 }
    training { global_batch: 96 micro_batch: 1 sequence: 1024
      parallel { tensor: 4 pipeline: 4 } sharding: ZERO_0 precision: BF16 })";
  auto proto = ResolveScenarioText(Catalog(), text, "test", sets);
  CHECK(proto.ok()) << proto.status().ToString();
  auto scenario = MakeScenario(*std::move(proto));
  CHECK(scenario.ok()) << scenario.status().ToString();
  return *std::move(scenario);
}

// The whole step, and the one put together.
void ExpectTheSame(const ResolvedScenario& scenario) {
  const RunOptions options{.detail = false};
  ASSERT_OK_AND_ASSIGN(const SimulatedRun whole,
                       RunScenario(scenario, options));
  ASSERT_OK_AND_ASSIGN(const Network network, Network::Make(scenario.system));
  ASSERT_OK_AND_ASSIGN(const PeriodicStep step,
                       RunPeriodically({scenario.model, scenario.system,
                                        scenario.kernels, network},
                                       *scenario.training(), options));
  const double expected = ToSeconds(whole.result.end);
  EXPECT_NEAR(ToSeconds(step.time), expected, kAgreement * expected);
  EXPECT_EQ(step.memory.peak.total, whole.memory.peak.total);
  // Nothing depends on being checked, and memory needs fewer micro-batches.
  const TrainingGround on{scenario.model, scenario.system, scenario.kernels,
                          network};
  const RunOptions unchecked{
      .fold_nearly = true, .checked = false, .detail = false};
  ASSERT_OK_AND_ASSIGN(const PeriodicStep quick,
                       RunPeriodically(on, *scenario.training(), unchecked));
  EXPECT_EQ(quick.time, step.time);
  EXPECT_EQ(quick.memory.peak.total, whole.memory.peak.total);
  ASSERT_OK_AND_ASSIGN(const MemoryPeaks memory,
                       RunForMemory(on, *scenario.training(), unchecked));
  EXPECT_EQ(memory.peak.total, whole.memory.peak.total);
  EXPECT_EQ(memory.stages.front().total, whole.memory.stages.front().total);
  // Nor on a planner that knows the calls already, or on who looks on.
  CallPlanner planner(network);
  RunOptions unseen = unchecked;
  unseen.planner = &planner;
  unseen.breakdown = false;
  for (int again = 0; again < 2; ++again) {
    ASSERT_OK_AND_ASSIGN(const PeriodicStep fast,
                         RunPeriodically(on, *scenario.training(), unseen));
    EXPECT_EQ(fast.time, step.time);
    EXPECT_EQ(fast.memory.peak.total, whole.memory.peak.total);
  }
  unseen.detail = true;
  ASSERT_OK_AND_ASSIGN(const SimulatedRun seen, RunScenario(scenario, {}));
  ASSERT_OK_AND_ASSIGN(const SimulatedRun fast,
                       RunTraining(on, *scenario.training(), unseen));
  EXPECT_EQ(fast.result.end, seen.result.end);
  EXPECT_EQ(fast.result.events, seen.result.events);
}

// 3, 4 and 5 rounds of 4 are simulated of 24.
TEST(PeriodicStep, IsTheWholeStep) {
  const ResolvedScenario scenario = Small({});
  ExpectTheSame(scenario);
  ASSERT_OK_AND_ASSIGN(const Network network, Network::Make(scenario.system));
  ASSERT_OK_AND_ASSIGN(
      const PeriodicStep step,
      RunPeriodically(
          {scenario.model, scenario.system, scenario.kernels, network},
          *scenario.training(), {.detail = false}));
  EXPECT_EQ(step.simulated, 5 * 4);
}

TEST(PeriodicStep, HoldsForPiecesOfStagesAndForAHostThatIsBehind) {
  ExpectTheSame(Small(
      {"training.schedule=INTERLEAVED_1F1B", "training.virtual_stages=2"}));
  ExpectTheSame(Small({"framework.dispatch=50 us"}));
  ExpectTheSame(Small({"training.global_batch=71"}));
}

// 3, 4 and 5 rounds are as many as 12.
TEST(PeriodicStep, RunsAShortStepAsItIs) {
  const ResolvedScenario scenario = Small({"training.global_batch=48"});
  ASSERT_OK_AND_ASSIGN(const Network network, Network::Make(scenario.system));
  ASSERT_OK_AND_ASSIGN(
      const PeriodicStep step,
      RunPeriodically(
          {scenario.model, scenario.system, scenario.kernels, network},
          *scenario.training(), {.detail = false}));
  EXPECT_EQ(step.simulated, 48);
}

}  // namespace
}  // namespace orrery
