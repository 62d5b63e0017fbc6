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
using testing::Not;

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
      AllOf(HasSubstr("The largest removable cause is exposed tensor "
                      "communication: without it the step would take"),
            HasSubstr("The bottleneck of the machine is compute: twice as "
                      "good, the step would take"),
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
// that is communication on the path, and where links are short congestion, but
// no work of other stages.
TEST(Explain, WorkOfOtherStagesHidesNoCommunication) {
  for (const char* scenario : {"mixtral_8x7b_5d", "crossing_groups"}) {
    const JsonValue json = Explained(scenario);
    EXPECT_LT(PathShare(json, "work of other stages"), 0.01) << scenario;
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
    if (share.Find("parts") == nullptr) continue;
    for (const JsonValue& part : *share.Find("parts")->array()) {
      const std::string& name = *part.Find("name")->string();
      if (name == "kernels of late peers") late += Number(part, "time_s");
      if (absl::StartsWith(name, "communication of other ranks: ")) {
        communication += Number(part, "time_s");
      }
    }
  }
  const double step = Number(json, "step_time_s");
  EXPECT_LT(late, 0.01 * step);
  EXPECT_GT(communication, 0.05 * step);
}

JsonValue Printed(const std::vector<std::string>& words) {
  const ProgramResult run = RunOrrery(words);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return ParseJson(run.out).value();
}

// The number of the list's entry that has this name.
double Named(const JsonValue& list, const char* key, const std::string& name,
             const char* field) {
  for (const JsonValue& entry : *list.array()) {
    if (*entry.Find(key)->string() == name) return Number(entry, field);
  }
  ADD_FAILURE() << "nothing is called " << name;
  return 0;
}

// One run and one rank: a word means one time, whichever command prints it. In
// crossing_groups ranks wait for much else than passes of other stages, in
// deep_pipeline for little else.
TEST(Explain, ABubbleIsOneTimeInEveryCommand) {
  for (const std::string scenario : {"crossing_groups", "deep_pipeline"}) {
    SCOPED_TRACE(scenario);
    const JsonValue explained = Explained(scenario);
    const JsonValue simulated = Printed({"simulate", scenario, "--json", "-"});
    const JsonValue& breakdown = *simulated.Find("breakdown");
    const JsonValue checked = Printed({"check", scenario, "--json", "-"});
    const JsonValue compared =
        Printed({"compare", scenario, "--change", "training.micro_batch=1",
                 "--json", "-"});
    const struct {
      const char* field;
      const char* name;
    } words[] = {{"bubble_s", "bubble"},
                 {"late_peer_s", "late peers"},
                 {"kernels_slowed_by_communication_s",
                  "kernels slowed by communication"},
                 {"optimizer_s", "optimizer"}};
    for (const auto& word : words) {
      const double time = Number(breakdown, word.field);
      EXPECT_EQ(Number(*checked.Find("breakdown"), word.field), time);
      EXPECT_EQ(
          Number(*(*compared.Find("sides")->array())[0].Find("report")->Find(
                     "breakdown"),
                 word.field),
          time);
      if (time == 0) continue;
      EXPECT_NEAR(
          Named(*explained.Find("rank_time"), "name", word.name, "time_s"),
          time, kRounding);
    }
    // What the rank waited for is all of its bubble.
    for (const JsonValue& share : *explained.Find("rank_time")->array()) {
      const bool waits = *share.Find("name")->string() == "bubble";
      ASSERT_TRUE(!waits || share.Find("parts") != nullptr);
      if (share.Find("parts") == nullptr) continue;
      EXPECT_NEAR(Sum(share, "parts", "time_s"), Number(share, "time_s"),
                  kRounding);
    }
    // Nothing else goes by its name.
    for (const char* list : {"critical_path", "removals"}) {
      if (explained.Find(list) == nullptr) continue;
      for (const JsonValue& entry : *explained.Find(list)->array()) {
        const char* key = entry.Find("name") != nullptr ? "name" : "cause";
        EXPECT_NE(*entry.Find(key)->string(), "bubble") << list;
      }
    }
  }
}

// The same term has the same name in every table and on every page.
TEST(Explain, ATermHasOneName) {
  const char* name = "kernels slowed by communication";
  const std::string change = "training.parallel.tensor=2";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{
           {"simulate", "quickstart"},
           {"explain", "quickstart", "--no-sensitivities"},
           {"tune", "quickstart"},
           {"compare", "quickstart", "--change", change},
       }) {
    const ProgramResult run = RunOrrery(words);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr(name)) << words[0];
    EXPECT_THAT(run.out, testing::Not(HasSubstr("  other "))) << words[0];
  }
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
      AllOf(HasSubstr("The bottleneck of the machine is scale-out bandwidth"),
            HasSubstr("; scale-out: "), HasSubstr("communication makes up")));
}

// Whoever types what is advised gets the step time that was promised. Advised
// are schedules that the framework offers: with more of them another respect
// has advice.
TEST(Explain, AdviceWasSimulated) {
  const std::string offers = "framework.offers.schedule=[ZB_H1, ZB_V]";
  const JsonValue as_is = Explained("deep_pipeline", {});
  for (const JsonValue& plan : *as_is.Find("plan_advice")->array()) {
    for (const JsonValue& setting : *plan.Find("settings")->array()) {
      EXPECT_THAT(*setting.string(), Not(HasSubstr("schedule=ZB")));
    }
  }
  const JsonValue json = Explained("deep_pipeline", {"--set", offers});
  const double step = Number(json, "step_time_s");
  const auto& advice = *json.Find("plan_advice")->array();
  ASSERT_GE(advice.size(), 1u);
  double last = 0;
  for (const JsonValue& plan : advice) {
    EXPECT_LT(Number(plan, "step_time_s"), 0.99 * step);
    EXPECT_GE(Number(plan, "step_time_s"), last);
    last = Number(plan, "step_time_s");
    std::vector<std::string> words = {"simulate", "deep_pipeline", "--json",
                                      "-",        "--set",         offers};
    for (const JsonValue& setting : *plan.Find("settings")->array()) {
      words.push_back("--set");
      words.push_back(*setting.string());
    }
    const ProgramResult run = RunOrrery(words);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(Number(ParseJson(run.out).value(), "step_time_s"),
              Number(plan, "step_time_s"));
  }
  // Fewer stages: with 8 micro-batches the framework has no schedule with a
  // smaller bubble.
  EXPECT_LT(Number(advice[0], "step_time_s"), 0.6 * step);
  // Most of the path is other stages' work, which no part of the machine is to
  // blame for.
  EXPECT_THAT(*json.Find("bottleneck")->string(),
              AllOf(HasSubstr("The bottleneck is the plan: work of other "
                              "stages makes up"),
                    HasSubstr("On the same machine training."),
                    HasSubstr("more than any part would save")));
}

double StepOf(const std::string& scenario,
              const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"simulate", scenario, "--json", "-"};
  words.insert(words.end(), more.begin(), more.end());
  const ProgramResult run = RunOrrery(words);
  // 1: it does not fit into memory, but has a time.
  EXPECT_LE(run.exit_code, 1) << run.err;
  return Number(ParseJson(run.out).value(), "step_time_s");
}

// The sentence opens with the largest cause that can be taken away and names
// the chip, the link or the pipeline; what it promises is what the step takes
// for whoever takes it away.
struct RemovableCase {
  const char* name;
  const char* scenario;
  std::vector<std::string> sets;
  const char* opening;
  // What to simulate instead.
  std::vector<std::string> without;
};
class ExplainRemovable : public testing::TestWithParam<RemovableCase> {};

TEST_P(ExplainRemovable, CauseOpensTheSentence) {
  const RemovableCase& c = GetParam();
  std::vector<std::string> more;
  for (const std::string& set : c.sets) {
    more.insert(more.end(), {"--set", set});
  }
  const JsonValue json = Explained(c.scenario, more);
  EXPECT_THAT(*json.Find("bottleneck")->string(),
              testing::StartsWith(
                  std::string("The largest removable cause is ") + c.opening));
  const auto& removals = *json.Find("removals")->array();
  ASSERT_FALSE(removals.empty());
  const double step = Number(json, "step_time_s");
  // Communication comes after the fault or the congestion that slows it, unless
  // that is less than three quarters of it.
  double last = 1;
  for (const JsonValue& removal : removals) {
    const double left = Number(removal, "step_time_s");
    const double saved = Number(removal, "saved");
    const bool follows =
        removal.Find("cause")->string()->starts_with("exposed");
    EXPECT_LE(saved * (follows ? 0.75 : 1), last);
    EXPECT_LT(left, step);
    EXPECT_NEAR(saved, 1 - left / step, 1e-9);
    last = saved * (follows ? 0.75 : 1);
  }
  // Ranks that are alike are simulated as one, which is a step of its own.
  constexpr double kContinued = 1e-5;
  EXPECT_NEAR(
      Number(removals[0], "step_time_s") / StepOf(c.scenario, c.without), 1,
      kContinued);
}

INSTANTIATE_TEST_SUITE_P(
    Causes, ExplainRemovable,
    testing::Values(
        RemovableCase{"congestion",
                      "crossing_groups",
                      {},
                      "congestion (NDR tier 1 switch ",
                      {"--fidelity", "CLOSED_FORM"}},
        RemovableCase{"slow_chip",
                      "quickstart",
                      {"system.slow_chip={chip: 5 slowdown: 2}"},
                      "slow chip (chip 5, kernels 2 times as long)",
                      {}},
        RemovableCase{"two_slow_chips",
                      "quickstart",
                      {"system.slow_chip={chip: 5 slowdown: 2},"
                       "{chip: 9 slowdown: 1.1}"},
                      "slow chip (all 2)",
                      {}},
        RemovableCase{"link_fault",
                      "quickstart",
                      {"system.fault={from: 3 remaining: 0.25}"},
                      "link fault (links of 3, 25 % left)",
                      {}},
        RemovableCase{"recomputation",
                      "megatron_22b_full",
                      {},
                      "recomputation (RECOMPUTE_FULL; does not fit without it)",
                      {"--set", "training.recompute=RECOMPUTE_NONE"}},
        RemovableCase{"uneven_experts",
                      "mixtral_8x7b_128",
                      {"training.expert_imbalance=3"},
                      "uneven routing",
                      {}},
        RemovableCase{"host",
                      "llama2_70b_inference",
                      {},
                      "host",
                      {"--set", "inference.engine.host_launch=0 s", "--set",
                       "inference.engine.graph_start=0 s", "--set",
                       "inference.engine.collective_launch=0 s", "--set",
                       "inference.engine.step_overhead=0 s", "--set",
                       "inference.engine.sequence_overhead=0 s", "--set",
                       "inference.engine.wait_for_collectives=false"}}),
    [](const auto& test) { return test.param.name; });

// A link at a tenth of its rate makes nearly all of the exposed communication:
// without that communication a step takes no longer than without the fault.
TEST(Explain, CommunicationOverAFaultIsAllOfIt) {
  const JsonValue json =
      Explained("quickstart", {"--set", "training.parallel.tensor=1", "--set",
                               "training.parallel.pipeline=1", "--set",
                               "training.parallel.data=32", "--set",
                               "system.fault={from: 3 remaining: 0.02}"});
  const double step = Number(json, "step_time_s");
  double fault = step;
  double data = step;
  for (const JsonValue& removal : *json.Find("removals")->array()) {
    const std::string& cause = *removal.Find("cause")->string();
    if (cause == "link fault") fault = Number(removal, "step_time_s");
    if (cause == "exposed data communication") {
      data = Number(removal, "step_time_s");
    }
  }
  EXPECT_LT(fault, 0.99 * step);
  EXPECT_LE(data, 1.001 * fault);
}

// Eight micro-batches through 16 stages: a pipeline that is never filled or
// drained takes for 8 more what it takes longer for 16.
TEST(Explain, FillAndDrainAreWhatAnEndlessPipelineSaves) {
  const JsonValue json = Explained("deep_pipeline", {});
  EXPECT_THAT(
      *json.Find("bottleneck")->string(),
      testing::StartsWith("The largest removable cause is pipeline fill "
                          "and drain (16 stages, 8 micro-batches): "));
  const double one = StepOf("deep_pipeline");
  const double two =
      StepOf("deep_pipeline", {"--set", "training.global_batch=16"});
  const JsonValue& drained = (*json.Find("removals")->array())[0];
  // The optimizer is some 1 % of the step, and all wait for another chip.
  EXPECT_NEAR(Number(drained, "step_time_s") / (two - one), 1, 0.03);
}

// Two links of a NIC's way are as full as each other; that which others were
// on, too, is named with what was lost there.
TEST(Explain, CongestedLinksAreAllThatWasLost) {
  const JsonValue json = Explained("crossing_groups");
  const auto& links = *json.Find("congested_links")->array();
  ASSERT_FALSE(links.empty());
  double last = 1;
  double sum = 0;
  for (const JsonValue& link : links) {
    EXPECT_LE(Number(link, "share"), last);
    last = Number(link, "share");
    sum += last;
  }
  EXPECT_LE(sum, 1 + 1e-9);
  EXPECT_GT(sum, 0.3);
  EXPECT_THAT(*json.Find("bottleneck")->string(),
              HasSubstr("congestion adds 1"));
}

TEST(Explain, SaysTheSameAgain) {
  EXPECT_EQ(RunOrrery({"explain", "quickstart"}).out,
            RunOrrery({"explain", "quickstart"}).out);
}

}  // namespace
}  // namespace orrery
