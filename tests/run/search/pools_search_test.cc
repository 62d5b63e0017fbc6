// The search over pools: prefill and decode on chips of their own.
#include <absl/strings/numbers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>
#include <string>

#include "base/format.h"
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

// Every plan that the search finds leaves the machine's headroom free.
TEST(ServingSearch, LeavesTheHeadroomFree) {
  for (const double headroom : {0.0, 0.4}) {
    ASSERT_OK_AND_ASSIGN(
        pb::Scenario said,
        MergeScenario(Catalog(), "llama3_70b_fp8_serving",
                      std::vector<std::string>{"inference.output=16"}));
    said.mutable_system()->set_memory_headroom(headroom);
    ASSERT_OK_AND_ASSIGN(const pb::Tuning tuning,
                         TuneServing(said, {.objective = Objective::kTokens,
                                            .space = {.batches = true},
                                            .simulate = 4}));
    int searched = 0;
    for (const auto& plan : tuning.plans()) {
      if (plan.description() == "as given") continue;
      ++searched;
      const pb::Report::Memory& memory = plan.report().memory();
      EXPECT_LE(static_cast<double>(memory.peak_bytes()),
                (1 - headroom) * static_cast<double>(memory.capacity_bytes()))
          << plan.description();
    }
    EXPECT_GT(searched, 0);
  }
}

// Every plan that the search finds keeps all limits, in whichever order they
// are given.
TEST(ServingSearch, KeepsToEveryLimit) {
  constexpr double kTokenTime = 0.015;
  ASSERT_OK_AND_ASSIGN(
      const pb::Scenario said,
      MergeScenario(Catalog(), "llama3_70b_fp8_serving",
                    std::vector<std::string>{"inference.output=16"}));
  for (const bool loose_first : {true, false}) {
    std::vector<Expression> limits;
    for (const std::string& text :
         {std::string("inference.end_to_end_s < 1e6"),
          fmt::format("inference.time_per_output_token_s < {}", kTokenTime)}) {
      ASSERT_OK_AND_ASSIGN(Expression limit, Expression::Parse(text));
      limits.insert(loose_first ? limits.end() : limits.begin(),
                    std::move(limit));
    }
    ASSERT_OK_AND_ASSIGN(const pb::Tuning tuning,
                         TuneServing(said, {.objective = Objective::kTokens,
                                            .space = {.batches = true},
                                            .limits = std::move(limits),
                                            .simulate = 8}));
    ASSERT_GT(tuning.plans_size(), 0);
    for (const auto& plan : tuning.plans()) {
      EXPECT_LT(plan.report().inference().time_per_output_token_s(), kTokenTime)
          << plan.description();
    }
  }
}

// A prefill replica takes as many prompts at once as the user set, so twice as
// many replicas take twice as many prompts.
TEST(PoolsSearch, KeepsThePromptsOfAReplica) {
  ASSERT_OK_AND_ASSIGN(pb::Scenario said, Said());
  auto& pools = *said.mutable_inference()->mutable_disaggregated();
  constexpr int kPrompts = 3;
  pools.mutable_prefill_parallel()->set_tensor(4);
  pools.mutable_prefill_parallel()->set_data(2);
  pools.mutable_decode_parallel()->set_tensor(4);
  pools.mutable_decode_parallel()->set_data(4);
  pools.set_prefill_batch(2 * kPrompts);
  FillDefaults(&said);
  ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario, MakeScenario(said));
  int replicas = 0;
  for (const auto& settings : ServingSpace(scenario, {})) {
    std::map<std::string, int> of;
    for (const std::string& setting : settings) {
      const size_t at = setting.find('=');
      int value = 0;
      if (absl::SimpleAtoi(setting.substr(at + 1), &value)) {
        of[setting.substr(0, at)] = value;
      }
    }
    const std::string path = "inference.disaggregated.";
    EXPECT_EQ(of.at(path + "prefill_batch"),
              kPrompts * of.at(path + "prefill_parallel.data"));
    replicas = std::max(replicas, of.at(path + "prefill_parallel.data"));
  }
  EXPECT_GT(replicas, 2);
}

}  // namespace
}  // namespace orrery
