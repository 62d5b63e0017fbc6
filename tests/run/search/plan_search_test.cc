// The search finds what looking at everything finds.
#include "run/search/plan_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "catalog/catalog.h"
#include "catalog/defaults.h"
#include "catalog/override.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "run/search/tune.h"
#include "tests/effort.h"

namespace orrery {
namespace {

struct Case {
  pb::Scenario said;
  ResolvedScenario scenario;
};

// A small model on a small machine, drawn by number.
Case Draw(int number) {
  Rng rng(static_cast<uint64_t>(number), "plan search");
  const auto pick = [&](std::initializer_list<const char*> from) {
    return std::string(
        *(from.begin() + rng.Below(static_cast<uint64_t>(from.size()))));
  };
  const std::string nodes = pick({"1", "2", "3"});
  const std::vector<std::string> sets = {
      "model.preset=" + pick({"gpt_1_3b", "gpt3_5b", "qwen3_1_7b",
                              "mixtral_8x7b", "llama2_7b"}),
      "system.preset=" +
          pick({"dgx_h100_ib400", "dgx_a100_hdr200", "mi300x_8x400"}),
      "system.nodes=" + nodes,
      "training.sequence=2048",
      "training.global_batch=" + pick({"48", "96"}),
      "training.parallel.tensor=1",
      "training.parallel.pipeline=1",
      "training.parallel.data=",
      "training.parallel.sequence_parallel=false"};
  auto said = MergeScenario(Catalog(), "quickstart", sets);
  EXPECT_TRUE(said.ok()) << said.status();
  pb::Scenario filled = *said;
  FillDefaults(&filled);
  auto scenario = MakeScenario(filled);
  EXPECT_TRUE(scenario.ok()) << scenario.status();
  return {*std::move(said), *std::move(scenario)};
}

TEST(PlanSearch, PrunesNothingThatCouldWin) {
  const int cases = Rounds(10);
  for (int number = 0; number < cases; ++number) {
    const Case c = Draw(number);
    PlanSearchOptions options{
        .kept = {PlanAxis::kOrder, PlanAxis::kDispatchMethod}};
    auto pruning = PlanSearch::Create(c.scenario, c.said.training(), options);
    options.prune = false;
    auto searching = PlanSearch::Create(c.scenario, c.said.training(), options);
    ASSERT_TRUE(pruning.ok() && searching.ok());
    const auto pruned = BestByClosedForm(*pruning, 7);
    const auto whole = BestByClosedForm(*searching, 7);
    ASSERT_TRUE(pruned.ok() && whole.ok());
    EXPECT_EQ(searching->counts().pruned, 0);
    EXPECT_EQ(pruning->counts().considered, searching->counts().considered);
    ASSERT_EQ(pruned->size(), whole->size()) << number;
    for (size_t i = 0; i < whole->size(); ++i) {
      EXPECT_EQ((*pruned)[i].choice, (*whole)[i].choice) << number;
      EXPECT_EQ((*pruned)[i].step_s, (*whole)[i].step_s) << number;
      EXPECT_LE((*whole)[i].bound_s, (*whole)[i].step_s) << number;
    }
  }
}

// The settings that are printed, typed in, give the plan that was simulated.
TEST(Tune, SettingsGiveTheSamePicosecond) {
  for (int number = 0; number < 4; ++number) {
    const Case c = Draw(number);
    const auto tuning = Tune(c.said, {.best = 3, .simulate = 24});
    ASSERT_TRUE(tuning.ok()) << tuning.status();
    for (const pb::Tuning::Plan& plan : tuning->plans()) {
      pb::Scenario typed = c.said;
      for (const std::string& setting : plan.settings()) {
        const auto set = ParseOverride(setting);
        ASSERT_TRUE(set.ok());
        ASSERT_TRUE(ApplyOverride(*set, &typed).ok()) << setting;
      }
      FillDefaults(&typed);
      const auto scenario = MakeScenario(typed);
      ASSERT_TRUE(scenario.ok()) << scenario.status();
      const auto run = RunScenario(*scenario, RunOptions{});
      ASSERT_TRUE(run.ok());
      EXPECT_EQ(ToSeconds(run->result.end), plan.report().step_time_s())
          << plan.description();
    }
  }
}

TEST(PlanSpace, LeavesAloneWhatIsKept) {
  const Case c = Draw(0);
  const PlanAxis kept[] = {PlanAxis::kTensor, PlanAxis::kSchedule,
                           PlanAxis::kRecompute};
  const PlanSpace space(c.scenario.proto, c.scenario.model,
                        c.scenario.system.chips(), kept);
  int plans = 0;
  for (const KernelChoice& kernels : space.kernels()) {
    EXPECT_EQ(kernels.tensor, 1);
    space.ForEach(kernels, [&](const PlanChoice& choice) {
      ++plans;
      EXPECT_EQ(choice.schedule, pb::Training::ONE_F_ONE_B);
      EXPECT_EQ(choice.recompute, RecomputeChoice::kNone);
    });
  }
  EXPECT_GT(plans, 0);
}

}  // namespace
}  // namespace orrery
