// orrery explain from the outside: its parts add up, and its advice is ranked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/cli/run_orrery.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::HasSubstr;

JsonValue Explained(const std::string& scenario,
                    std::vector<std::string> more = {"--no-sensitivities"}) {
  std::vector<std::string> words = {"explain", scenario, "--json", "-"};
  words.insert(words.end(), more.begin(), more.end());
  const ProgramResult run = RunOrrery(words);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return ParseJson(run.out).value();
}

double Number(const JsonValue& object, const char* name) {
  return object.Find(name)->number()->value;
}

double Sum(const JsonValue& object, const char* list, const char* field) {
  double sum = 0;
  for (const JsonValue& entry : *object.Find(list)->array()) {
    sum += Number(entry, field);
  }
  return sum;
}

class ExplainScenario : public testing::TestWithParam<std::string> {};

// Times are whole picoseconds and printed exactly; sums of a few of them as
// doubles are off by rounding only.
constexpr double kRounding = 1e-12;

TEST_P(ExplainScenario, ItsPartsAddUp) {
  const JsonValue json = Explained(GetParam());
  const double step = Number(json, "step_time_s");
  EXPECT_GT(step, 0);
  EXPECT_NEAR(Sum(json, "critical_path", "time_s") / step, 1, kRounding);
  EXPECT_NEAR(Sum(json, "rank_time", "time_s") / step, 1, kRounding);
  for (const JsonValue& c : *json.Find("communication")->array()) {
    const double total = Number(c, "total_s");
    EXPECT_NEAR(Number(c, "exposed_s") + Number(c, "hidden_s"), total,
                kRounding * step);
    EXPECT_GE(Number(c, "exposed_s"), 0);
    EXPECT_GE(Number(c, "hidden_s"), 0);
  }
  for (const JsonValue& u : *json.Find("utilisation")->array()) {
    EXPECT_GT(Number(u, "mean"), 0);
    EXPECT_LE(Number(u, "mean"), Number(u, "most"));
    EXPECT_LE(Number(u, "most"), 1 + kRounding);
  }
  EXPECT_LE(json.Find("top_tasks")->array()->size(), 10u);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, ExplainScenario,
                         testing::Values("quickstart", "mixtral_8x7b_128",
                                         "megatron_22b_full",
                                         "megatron_22b_selective",
                                         "megatron_175b_full",
                                         "megatron_175b_selective"),
                         [](const auto& test) { return test.param; });

TEST(Explain, RanksWhatWouldHelp) {
  const JsonValue json = Explained("quickstart", {});
  const double step = Number(json, "step_time_s");
  const auto& ranked = *json.Find("sensitivity")->array();
  ASSERT_EQ(ranked.size(), 6u);
  for (size_t i = 0; i < ranked.size(); ++i) {
    const double ten = Number(ranked[i], "step_time_10_percent_s");
    const double twice = Number(ranked[i], "step_time_twice_s");
    EXPECT_LE(ten, step);
    EXPECT_LE(twice, ten);
    EXPECT_NEAR(Number(ranked[i], "saved_twice"), 1 - twice / step, 1e-9);
    if (i > 0) {
      EXPECT_GE(twice, Number(ranked[i - 1], "step_time_twice_s"));
    }
  }
  // Nothing is bought for nothing: no resource twice as good halves the step
  // and more.
  EXPECT_GT(Number(ranked[0], "step_time_twice_s"), step / 2);
  EXPECT_EQ(*ranked[0].Find("resource")->string(), "compute");
}

TEST(Explain, SaysTheBottleneckInASentence) {
  const ProgramResult run = RunOrrery({"explain", "quickstart"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(
      run.out,
      AllOf(HasSubstr("The bottleneck is compute: twice as good, the "
                      "step would take"),
            HasSubstr("critical path by cause"), HasSubstr("what would help")));
}

TEST(Explain, SaysTheSameAgain) {
  EXPECT_EQ(RunOrrery({"explain", "quickstart"}).out,
            RunOrrery({"explain", "quickstart"}).out);
}

}  // namespace
}  // namespace orrery
