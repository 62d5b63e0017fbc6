// orrery explain from the outside: its parts add up, and its advice is ranked.
#include <absl/strings/match.h>
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
  ASSERT_EQ(ranked.size(), 7u);
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

// The share of the path whose causes begin so.
double PathShare(const JsonValue& json, const std::string& prefix) {
  double share = 0;
  for (const JsonValue& cause : *json.Find("critical_path")->array()) {
    if (cause.Find("name")->string()->rfind(prefix, 0) == 0) {
      share += Number(cause, "share");
    }
  }
  return share;
}

// Stages wait at the end of the step for each other's gradients and parameters:
// that is communication, and where links are short congestion, but no bubble.
TEST(Explain, ABubbleHidesNoCommunication) {
  for (const char* scenario : {"mixtral_8x7b_5d", "crossing_groups"}) {
    const JsonValue json = Explained(scenario);
    EXPECT_LT(PathShare(json, "bubble"), 0.01) << scenario;
    EXPECT_GT(PathShare(json, "communication: data") +
                  PathShare(json, "communication: parameters") +
                  PathShare(json, "congestion: "),
              0.09)
        << scenario;
  }
}

// Nor does a late peer: in crossing_groups ranks of a tensor group are late
// because their gradients come over full links, and no chip is slow.
TEST(Explain, ALatePeerHidesNoCommunication) {
  const JsonValue json = Explained("crossing_groups");
  double late = 0, communication = 0;
  for (const JsonValue& share : *json.Find("rank_0_time")->array()) {
    const std::string& name = *share.Find("name")->string();
    if (name == "late peers") late += Number(share, "share");
    if (absl::StartsWith(name, "communication of other ranks: ")) {
      communication += Number(share, "share");
    }
  }
  EXPECT_LT(late, 0.01);
  EXPECT_GT(communication, 0.05);
}

// The fabric of crossing_groups is too small for its gradients: the explanation
// says which link was full, and of whom.
TEST(Explain, CongestionNamesTheLinkAndTheOthers) {
  const JsonValue json = Explained("crossing_groups");
  EXPECT_GT(PathShare(json, "congestion: data"), 0.05);
  const auto& congestion = *json.Find("congestion")->array();
  ASSERT_FALSE(congestion.empty());
  const JsonValue& worst = congestion[0];
  EXPECT_GT(Number(worst, "time_s"), Number(worst, "alone_s"));
  EXPECT_THAT(*worst.Find("link")->string(),
              AllOf(HasSubstr("tier 1 switch"), HasSubstr("tier 2 switch")));
  EXPECT_GT(Number(worst, "load"), 0.9);
  ASSERT_FALSE(worst.Find("others")->array()->empty());
  EXPECT_THAT(*(*worst.Find("others")->array())[0].Find("call")->string(),
              HasSubstr("shard"));
}

// Parameters that are gathered over slow NICs for every layer: the sentence
// names the NICs, by what would help, what is full and what the path is made
// of.
TEST(Explain, TheSentenceNamesTheResourceThatBinds) {
  const JsonValue json =
      Explained("quickstart", {"--set", "training.sharding=ZERO_3", "--set",
                               "system.scale_out.nic_bandwidth=50Gb/s"});
  const std::string& sentence = *json.Find("bottleneck")->string();
  EXPECT_THAT(
      sentence,
      AllOf(HasSubstr("The bottleneck is scale-out bandwidth"),
            HasSubstr("; scale-out: "), HasSubstr("communication makes up")));
}

// Whoever types what is advised gets the step time that was promised.
TEST(Explain, AdviceWasSimulated) {
  const JsonValue json = Explained("deep_pipeline", {});
  const double step = Number(json, "step_time_s");
  const auto& advice = *json.Find("plan_advice")->array();
  ASSERT_GE(advice.size(), 2u);
  double last = 0;
  for (const JsonValue& plan : advice) {
    EXPECT_LT(Number(plan, "step_time_s"), 0.99 * step);
    EXPECT_GE(Number(plan, "step_time_s"), last);
    last = Number(plan, "step_time_s");
    std::vector<std::string> words = {"simulate", "deep_pipeline", "--json",
                                      "-"};
    for (const JsonValue& setting : *plan.Find("settings")->array()) {
      words.push_back("--set");
      words.push_back(*setting.string());
    }
    const ProgramResult run = RunOrrery(words);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(Number(ParseJson(run.out).value(), "step_time_s"),
              Number(plan, "step_time_s"));
  }
  // Fewer stages, and a schedule with a smaller bubble.
  EXPECT_LT(Number(advice[0], "step_time_s"), 0.6 * step);
  // Most of the path is a bubble, which no part of the machine is to blame for.
  EXPECT_THAT(*json.Find("bottleneck")->string(),
              AllOf(HasSubstr("The bottleneck is the plan: bubble makes up"),
                    HasSubstr("On the same machine training."),
                    HasSubstr("more than any part would save")));
}

TEST(Explain, SaysTheSameAgain) {
  EXPECT_EQ(RunOrrery({"explain", "quickstart"}).out,
            RunOrrery({"explain", "quickstart"}).out);
}

}  // namespace
}  // namespace orrery
