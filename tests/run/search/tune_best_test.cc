// Tune against looking at everything, and against plans that people published.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "catalog/catalog.h"
#include "catalog/defaults.h"
#include "catalog/resolve.h"
#include "run/report.h"
#include "run/run_scenario.h"
#include "run/search/plan_search.h"
#include "run/search/tune.h"
#include "tests/effort.h"

namespace orrery {
namespace {

pb::Scenario Said(const std::string& name,
                  const std::vector<std::string>& sets = {}) {
  auto said = MergeScenario(Catalog(), name, sets);
  EXPECT_TRUE(said.ok()) << said.status();
  return *std::move(said);
}

ResolvedScenario Resolved(pb::Scenario said) {
  FillDefaults(&said);
  auto scenario = MakeScenario(std::move(said));
  EXPECT_TRUE(scenario.ok()) << scenario.status();
  return *std::move(scenario);
}

struct SmallSpace {
  pb::Scenario said;
  std::vector<PlanAxis> kept;
};

// A small model on one or two nodes; some of the axes stay as they are, so that
// every plan can be simulated.
SmallSpace Draw(int number) {
  Rng rng(static_cast<uint64_t>(number), "small spaces");
  const auto pick = [&](std::initializer_list<const char*> from) {
    return std::string(
        *(from.begin() + rng.Below(static_cast<uint64_t>(from.size()))));
  };
  SmallSpace space;
  space.said = Said(
      "quickstart",
      {"model.preset=" + pick({"gpt_1_3b", "qwen3_1_7b", "gpt3_5b"}),
       "system.preset=" + pick({"dgx_h100_ib400", "dgx_a100_hdr200"}),
       "system.nodes=" + pick({"1", "2"}), "training.sequence=2048",
       "training.global_batch=" + pick({"16", "32"}),
       "training.parallel.tensor=1", "training.parallel.pipeline=1",
       "training.parallel.data=", "training.parallel.sequence_parallel=false",
       "training.sharding=ZERO_1"});
  space.kept = {PlanAxis::kContext,       PlanAxis::kOrder,
                PlanAxis::kExpert,        PlanAxis::kDispatchMethod,
                PlanAxis::kContextMethod, PlanAxis::kSequenceParallel};
  // Two of these are searched beside tensor and pipeline.
  std::vector<PlanAxis> others = {PlanAxis::kMicroBatch, PlanAxis::kSchedule,
                                  PlanAxis::kSharding, PlanAxis::kRecompute};
  for (int i = 0; i < 3; ++i) {
    const size_t at = rng.Below(others.size());
    space.kept.push_back(others[at]);
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return space;
}

// The fastest plan that fits, of all, simulated.
double ExhaustiveBest(const SmallSpace& space, int* simulated) {
  const ResolvedScenario scenario = Resolved(space.said);
  const PlanSpace plans(scenario.proto, scenario.model, scenario.system.chips(),
                        space.kept);
  std::vector<PlanChoice> choices;
  for (const KernelChoice& kernels : plans.kernels()) {
    plans.ForEach(kernels, [&](const PlanChoice& c) { choices.push_back(c); });
  }
  const auto network = Network::Make(scenario.system);
  std::vector<double> seconds(choices.size(), 1e9);
  InParallel(choices.size(), [&](size_t i) {
    pb::Scenario said = space.said;
    *said.mutable_training() = WithChoice(said.training(), choices[i]);
    FillDefaults(&said);
    const auto one = MakeScenario(std::move(said));
    if (!one.ok()) return;
    const auto run = RunScenario(*one, *network, RunOptions{});
    if (!run.ok()) return;
    if (MemoryNeeded(*one, run->memory) > PlannedCapacity(one->system)) return;
    seconds[i] = ToSeconds(run->result.end);
  });
  *simulated = static_cast<int>(std::count_if(
      seconds.begin(), seconds.end(), [](double s) { return s < 1e9; }));
  return *std::min_element(seconds.begin(), seconds.end());
}

TEST(Tune, FindsWhatSimulatingEveryPlanFinds) {
  const int spaces = Rounds(20);
  for (int number = 0; number < spaces; ++number) {
    const SmallSpace space = Draw(number);
    int simulated = 0;
    const double best = ExhaustiveBest(space, &simulated);
    ASSERT_GT(simulated, 1) << number;
    TuneOptions options;
    options.search.kept = space.kept;
    const auto tuning = Tune(space.said, options);
    ASSERT_TRUE(tuning.ok()) << tuning.status();
    ASSERT_GT(tuning->plans_size(), 0);
    EXPECT_EQ(tuning->plans(0).report().step_time_s(), best)
        << "space " << number << " of " << simulated
        << " plans: " << tuning->plans(0).description();
  }
}

// Runs whose authors tuned their plan on the machine. By our closed forms the
// best plan is at least as good, and theirs is among the best tenth of those
// that fit.
class PublishedPlan : public ::testing::TestWithParam<const char*> {};

TEST_P(PublishedPlan, IsAmongTheBestTenth) {
  const pb::Scenario said = Said(GetParam());
  const ResolvedScenario scenario = Resolved(said);
  PlanSearchOptions options;
  options.prune = false;
  // What the software of the run did not offer.
  options.kept = {PlanAxis::kOrder,    PlanAxis::kDispatchMethod,
                  PlanAxis::kContext,  PlanAxis::kContextMethod,
                  PlanAxis::kSchedule, PlanAxis::kSharding};
  auto search = PlanSearch::Create(scenario, said.training(), options);
  ASSERT_TRUE(search.ok()) << search.status();
  const auto plans = BestByClosedForm(*search, 10'000'000);
  ASSERT_TRUE(plans.ok()) << plans.status();
  ASSERT_FALSE(plans->empty());
  const auto published = EstimateScenario(scenario);
  ASSERT_TRUE(published.ok());
  EXPECT_LE((*plans)[0].step_s, published->step_s());
  const auto faster = std::count_if(
      plans->begin(), plans->end(),
      [&](const FoundPlan& p) { return p.step_s < published->step_s(); });
  RecordProperty("faster", static_cast<int>(faster));
  RecordProperty("plans", static_cast<int>(plans->size()));
  EXPECT_LE(faster, static_cast<int64_t>(plans->size()) / 10)
      << plans->size() << " plans fit; the best takes " << (*plans)[0].step_s
      << " s, the published one " << published->step_s()
      << " s: " << Describe((*plans)[0].choice);
}

INSTANTIATE_TEST_SUITE_P(Runs, PublishedPlan,
                         ::testing::Values("megatron_22b_selective",
                                           "megatron_175b_selective",
                                           "megatron_530b_selective",
                                           "megatron_1t_selective",
                                           "llama3_405b_16k"));

}  // namespace
}  // namespace orrery
