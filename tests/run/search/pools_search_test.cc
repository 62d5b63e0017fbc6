// The search over pools: prefill and decode on chips of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

#include "catalog/defaults.h"
#include "catalog/override.h"
#include "catalog/resolve.h"
#include "run/requests/scenario_report.h"
#include "run/search/tune_inference.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

// Three nodes of eight: one or two of them for prefill.
absl::StatusOr<pb::Scenario> Said() {
  return MergeScenario(
      Catalog(), "llama3_70b_pools",
      std::vector<std::string>{"system.nodes=3",
                               "inference.disaggregated.decode_chips=16",
                               "inference.output=16"});
}

constexpr ServingAxis kKept[] = {ServingAxis::kPipeline, ServingAxis::kExpert,
                                 ServingAxis::kChunk};

// Every candidate simulated, one by one: the search finds the best of them, and
// its pools are as large as the machine.
TEST(PoolsSearch, FindsWhatSimulatingEveryCandidateFinds) {
  ASSERT_OK_AND_ASSIGN(const pb::Scenario said, Said());
  pb::Scenario filled = said;
  FillDefaults(&filled);
  ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario, MakeScenario(filled));
  const ServingSpaceOptions space{.kept = {std::begin(kKept), std::end(kKept)}};
  const auto candidates = ServingSpace(scenario, space);
  double best = std::numeric_limits<double>::infinity();
  std::set<int> prefill_chips;
  int legal = 0;
  for (const auto& settings : candidates) {
    pb::Scenario each = said;
    for (const std::string& setting : settings) {
      ASSERT_OK_AND_ASSIGN(const Override parsed, ParseOverride(setting));
      ASSERT_THAT(ApplyOverride(parsed, &each), IsOk());
    }
    FillDefaults(&each);
    const auto made = MakeScenario(each);
    if (!made.ok()) continue;
    const auto& pools = each.inference().disaggregated();
    EXPECT_EQ(pools.prefill_chips() + pools.decode_chips(), 24);
    ASSERT_OK_AND_ASSIGN(const pb::Report report, ReportScenario(*made, {}));
    if (!report.memory().fits()) continue;
    ++legal;
    prefill_chips.insert(pools.prefill_chips());
    best = std::min(best, report.inference().end_to_end_s());
  }
  EXPECT_GE(legal, 8);
  EXPECT_EQ(prefill_chips, (std::set<int>{8, 16}));
  ASSERT_OK_AND_ASSIGN(
      const pb::Tuning tuning,
      TuneServing(said, {.objective = Objective::kTime, .space = space}));
  ASSERT_GT(tuning.plans_size(), 0);
  EXPECT_EQ(tuning.plans(0).report().inference().end_to_end_s(), best);
  EXPECT_LE(best, tuning.said().report().inference().end_to_end_s());
}

// Kept pools stay as they were said.
TEST(PoolsSearch, KeepsWhatItIsToldToKeep) {
  ASSERT_OK_AND_ASSIGN(const pb::Scenario said, Said());
  ServingSpaceOptions space{.kept = {std::begin(kKept), std::end(kKept)}};
  space.kept.push_back(ServingAxis::kPools);
  ASSERT_OK_AND_ASSIGN(
      const pb::Tuning tuning,
      TuneServing(said, {.objective = Objective::kTime, .space = space}));
  for (const auto& plan : tuning.plans()) {
    for (const std::string& setting : plan.settings()) {
      EXPECT_THAT(setting, testing::Not(testing::AnyOf(
                               testing::HasSubstr("prefill_chips=16"),
                               testing::HasSubstr("decode_chips=8"))));
    }
  }
}

}  // namespace
}  // namespace orrery
