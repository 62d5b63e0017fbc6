// Comparisons: parts that differ, what each does, and what is said of it.
#include "run/search/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/search/scenario_parts.h"

namespace orrery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

pb::Scenario Said(const std::string& name,
                  const std::vector<std::string>& sets = {}) {
  auto said = MergeScenario(Catalog(), name, sets);
  EXPECT_TRUE(said.ok()) << said.status();
  return *std::move(said);
}

std::vector<std::string> PathsOf(const std::vector<ScenarioPart>& parts) {
  std::vector<std::string> paths;
  for (const ScenarioPart& part : parts) paths.push_back(part.path);
  return paths;
}

TEST(ScenarioParts, AreNamedByWhatWasSaidOtherwise) {
  const pb::Scenario a = Said("quickstart");
  const pb::Scenario b = Said(
      "quickstart", {"system.nodes=8", "training.parallel.tensor=8",
                     "training.parallel.pipeline=1", "training.micro_batch=2"});
  const auto parts = DifferingParts(a, b);
  EXPECT_THAT(
      PathsOf(parts),
      ElementsAre("system.nodes", "training.micro_batch", "training.parallel"));
  EXPECT_THAT(parts[0].changes, ElementsAre("system.nodes: 4 -> 8"));
  EXPECT_THAT(parts[2].changes,
              ElementsAre("training.parallel.tensor: 4 -> 8",
                          "training.parallel.pipeline: 2 -> 1"));
  EXPECT_TRUE(DifferingParts(a, a).empty());
}

TEST(ScenarioParts, OneAfterTheOtherMakeTheOtherScenario) {
  pb::Scenario a = Said("quickstart");
  const pb::Scenario b = Said("mixtral_8x7b_128");
  for (const ScenarioPart& part : DifferingParts(a, b)) CopyPart(part, b, &a);
  EXPECT_TRUE(DifferingParts(a, b).empty());
}

TEST(Compare, TermsAndCausesSumToTheDifference) {
  const std::vector<ComparedSide> sides = {
      {.name = "full", .said = Said("megatron_175b_full")},
      {.name = "selective", .said = Said("megatron_175b_selective")}};
  const auto comparison = Compare(sides, {});
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  ASSERT_EQ(comparison->against_size(), 1);
  const auto& against = comparison->against(0);
  const double difference = against.second_s() - against.first_s();
  EXPECT_LT(difference, 0);  // published: 18.13 s and 13.75 s
  // Sums of some ten terms, each rounded to a double.
  constexpr double kRounding = 1e-9;
  double terms = 0;
  for (const auto& term : against.terms()) {
    terms += term.second_s() - term.first_s();
  }
  EXPECT_NEAR(terms, difference, kRounding);
  double causes = against.together_s();
  for (const auto& cause : against.causes()) causes += cause.effect_s();
  EXPECT_NEAR(causes, difference, kRounding);
  ASSERT_EQ(against.causes_size(), 2);
  EXPECT_EQ(against.causes(0).parts(0), "training.recompute");
}

TEST(Compare, OneCauseIsAllOfTheDifference) {
  const std::vector<ComparedSide> sides = {
      {.name = "a", .said = Said("quickstart")},
      {.name = "b", .said = Said("quickstart", {"training.micro_batch=2"})}};
  const auto comparison = Compare(sides, {});
  ASSERT_TRUE(comparison.ok());
  const auto& against = comparison->against(0);
  ASSERT_EQ(against.causes_size(), 1);
  EXPECT_EQ(against.causes(0).effect_s(),
            against.second_s() - against.first_s());
}

// Neither 3 nodes with 16 data ranks nor 12 data ranks on 4 nodes is legal.
TEST(Compare, PartsThatOnlyGoTogetherAreChangedTogether) {
  const std::vector<std::string> first = {"training.parallel.data=4",
                                          "training.global_batch=96"};
  std::vector<std::string> second = first;
  second[0] = "training.parallel.data=3";
  second.emplace_back("system.nodes=3");
  second.emplace_back("training.micro_batch=2");
  const std::vector<ComparedSide> sides = {
      {.name = "a", .said = Said("quickstart", first)},
      {.name = "b", .said = Said("quickstart", second)}};
  const auto comparison = Compare(sides, {});
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  const auto& against = comparison->against(0);
  ASSERT_EQ(against.causes_size(), 2);
  int together = 0;
  for (const auto& cause : against.causes()) {
    EXPECT_FALSE(cause.has_problem()) << cause.problem();
    if (cause.parts_size() == 1) continue;
    ++together;
    EXPECT_THAT(cause.parts(),
                ElementsAre("system.nodes", "training.parallel"));
  }
  EXPECT_EQ(together, 1);
  EXPECT_TRUE(against.has_together_s());
}

TEST(Compare, SavedReportsAreComparedWithoutRunningAnything) {
  pb::Report a;
  a.set_step_time_s(2);
  a.set_tokens_per_s(100);
  a.mutable_breakdown()->set_compute_s(1.5);
  a.mutable_breakdown()->set_bubble_s(0.5);
  pb::Report b = a;
  b.set_step_time_s(1.6);
  b.set_tokens_per_s(125);
  b.mutable_breakdown()->set_bubble_s(0.1);
  const auto comparison =
      Compare({{.name = "a", .saved = a}, {.name = "b", .saved = b}}, {});
  ASSERT_TRUE(comparison.ok());
  ASSERT_EQ(comparison->against(0).terms_size(), 1);
  EXPECT_EQ(comparison->against(0).terms(0).term(), "bubble_s");
  EXPECT_EQ(comparison->against(0).causes_size(), 0);
  EXPECT_EQ(comparison->notes_size(), 0);  // 2 x 100 = 1.6 x 125 tokens
}

TEST(Compare, AStepAndARequestAreRefused) {
  const auto comparison =
      Compare({{.name = "a", .said = Said("quickstart")},
               {.name = "b", .said = Said("llama3_70b_fp8_serving")}},
              {});
  EXPECT_THAT(std::string(comparison.status().message()),
              HasSubstr("have no time in common"));
}

}  // namespace
}  // namespace orrery
