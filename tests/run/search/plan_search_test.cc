// The search finds what looking at everything finds.
#include "run/search/plan_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

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

// What is kept of a way to split that the plan did not use is the framework's:
// it makes no plan illegal.
TEST(PlanSearch, FindsSplitsWhoseMethodIsKept) {
  const auto said = MergeScenario(
      Catalog(), "quickstart",
      std::vector<std::string>{"model.preset=mixtral_8x7b", "model.layers=8",
                               "training.parallel.tensor=1",
                               "training.parallel.pipeline=1",
                               "training.parallel.sequence_parallel=false"});
  ASSERT_TRUE(said.ok()) << said.status();
  pb::Scenario filled = *said;
  FillDefaults(&filled);
  const auto scenario = MakeScenario(filled);
  ASSERT_TRUE(scenario.ok()) << scenario.status();
  for (const bool expert : {false, true}) {
    PlanSearchOptions options{.prune = false};
    for (int i = 0; i < kPlanAxes; ++i) {
      const auto axis = static_cast<PlanAxis>(i);
      if (axis != (expert ? PlanAxis::kExpert : PlanAxis::kContext)) {
        options.kept.push_back(axis);
      }
    }
    auto search = PlanSearch::Create(*scenario, said->training(), options);
    ASSERT_TRUE(search.ok()) << search.status();
    ASSERT_TRUE(BestByClosedForm(*search, 100).ok());
    EXPECT_GT(search->counts().considered, 2);
    EXPECT_EQ(search->counts().illegal, 0) << expert;
  }
}

// The list, or all there are if it is empty, has the value, or the scenario
// uses it.
template <class List>
bool MayUse(const List& offered, int value, int said) {
  return value == said || offered.empty() ||
         std::find(offered.begin(), offered.end(), value) != offered.end();
}

// A plan splits, schedules, shards and recomputes as its framework can, or as
// the scenario does already. What goes with a way to split is not offered
// without it.
TEST(PlanSpace, HoldsWhatTheFrameworkOffers) {
  const Catalog catalog;
  for (const std::string& framework : catalog.Names("frameworks")) {
    for (const char* model : {"llama3_8b", "mixtral_8x7b"}) {
      SCOPED_TRACE(framework + " " + model);
      const auto said = MergeScenario(
          catalog, "quickstart",
          std::vector<std::string>{"framework.preset=" + framework,
                                   "model.preset=" + std::string(model)});
      ASSERT_TRUE(said.ok()) << said.status();
      pb::Scenario filled = *said;
      FillDefaults(&filled);
      const auto scenario = MakeScenario(filled);
      ASSERT_TRUE(scenario.ok()) << scenario.status();
      const pb::Offers& offers = scenario->proto.framework().offers();
      const auto splits = [&](pb::Parallel::Dimension dimension) {
        return MayUse(offers.dimension(), dimension, -1);
      };
      const PlanSpace space(scenario->proto, scenario->model,
                            scenario->system.chips(), {});
      const PlanChoice& used = space.said();
      int plans = 0;
      std::set<RecomputeChoice> recomputed;
      for (const KernelChoice& kernels : space.kernels()) {
        space.ForEach(kernels, [&](const PlanChoice& choice) {
          ++plans;
          recomputed.insert(choice.recompute);
          const bool good =
              (kernels.tensor == 1 || used.kernels.tensor > 1 ||
               splits(pb::Parallel::TENSOR)) &&
              (!kernels.sequence_parallel || used.kernels.sequence_parallel ||
               !offers.has_sequence_parallel() || offers.sequence_parallel()) &&
              (choice.pipeline == 1 || choice.schedule == used.schedule ||
               (splits(pb::Parallel::PIPELINE) &&
                MayUse(offers.schedule(), choice.schedule, -1))) &&
              MayUse(offers.sharding(), choice.sharding, used.sharding) &&
              (choice.pipeline == 1 ||
               MayUse(offers.sharding_in_pipelines(), choice.sharding,
                      used.sharding)) &&
              (kernels.context == 1 ||
               (splits(pb::Parallel::CONTEXT) &&
                MayUse(offers.context_method(), choice.context_method, -1))) &&
              (kernels.expert == 1 ||
               (splits(pb::Parallel::EXPERT) &&
                MayUse(offers.dispatch_method(), choice.dispatch, -1)));
          if (!good) ADD_FAILURE() << Describe(choice);
        });
        if (HasFailure()) return;
      }
      EXPECT_GT(plans, 0);
      for (const RecomputeChoice each : recomputed) {
        PlanChoice choice = used;
        choice.recompute = each;
        EXPECT_TRUE(MayUse(offers.recompute(),
                           WithChoice(said->training(), choice).recompute(),
                           pb::Training::RECOMPUTE_NONE))
            << Describe(choice);
      }
    }
  }
}

// The machine's headroom stays free in every plan, and the answer says so.
TEST(Tune, LeavesTheHeadroomFree) {
  Case c = Draw(1);
  for (const double headroom : {0.0, 0.3}) {
    c.said.mutable_system()->set_memory_headroom(headroom);
    const auto tuning = Tune(c.said, {.best = 5, .simulate = 8});
    ASSERT_TRUE(tuning.ok()) << tuning.status();
    ASSERT_GT(tuning->plans_size(), 0);
    for (const pb::Tuning::Plan& plan : tuning->plans()) {
      const pb::Report::Memory& memory = plan.report().memory();
      if (plan.description() == "as given") continue;
      EXPECT_LE(static_cast<double>(memory.reserved_bytes()),
                (1 - headroom) * static_cast<double>(memory.capacity_bytes()));
    }
    int notes = 0;
    for (const std::string& note : tuning->notes()) {
      notes += note.find("30 % of each chip's memory") != std::string::npos;
    }
    EXPECT_EQ(notes, headroom > 0 ? 1 : 0);
  }
}

}  // namespace
}  // namespace orrery
