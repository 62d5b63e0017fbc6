// Timelines of real scenarios through the program, as Perfetto reads them: a
// dense model, a mixture of experts in five dimensions, a deep pipeline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "tests/cli/run_orrery.h"
#include "tests/status_matchers.h"
#include "tests/traces/trace_processor.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ScenarioTimeline : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  }
  ~ScenarioTimeline() override { std::filesystem::remove(file_); }
  const std::string file_ = TestFile("scenario.pftrace");
};

// What `orrery explain` says is what Perfetto sees: the step time, the critical
// path without a gap and as long as the step, and each kind of communication.
TEST_P(ScenarioTimeline, SaysWhatTheExplanationSays) {
  const ProgramResult run =
      RunOrrery({"explain", GetParam(), "--no-sensitivities", "--json", "-",
                 "--trace", file_});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("slices; this shows them"));
  const JsonValue json = ParseJson(run.out).value();
  const double step = json.Find("step_time_s")->number()->value;
  const TraceAnswers answers = Ask(
      file_,
      {"select max(dur) from slice where name = 'step'",
       "select sum(dur) from slice where category = 'critical path'",
       "select count(*) from (select ts, lag(ts + dur) over (order by ts, id) "
       "as before from slice where category = 'critical path') "
       "where ts != before",
       "select str_value from metadata where name = "
       "'trace_attribute.orrery.scenario'",
       "select count(*) > 0 from flow",
       "select sum(c.value < 0) from counter c",
       "select count(*) from slice where category = 'communication'",
       "select count(*) from slice where category = 'communication' and "
       "extract_arg(arg_set_id, 'debug.algorithm') is null",
       "select count(*) from track t join track p on p.id = t.parent_id "
       "where t.name glob '* out load' and p.name glob 'rank *'"});
  EXPECT_THAT(answers.problems, IsEmpty());
  const auto nanoseconds =
      fmt::to_string(static_cast<int64_t>(step * 1e9 + 1e-6));
  EXPECT_EQ(answers.tables[0][0][0], nanoseconds);
  EXPECT_EQ(answers.tables[1][0][0], nanoseconds);
  EXPECT_EQ(answers.tables[2][0][0], "0");
  EXPECT_EQ(answers.tables[3][0][0], GetParam());
  EXPECT_EQ(answers.tables[4][0][0], "1");
  EXPECT_EQ(answers.tables[5][0][0], "0");
  EXPECT_NE(answers.tables[6][0][0], "0");
  EXPECT_EQ(answers.tables[7][0][0], "0");  // each names its algorithm
  EXPECT_NE(answers.tables[8][0][0], "0");  // links stand below their rank
}

INSTANTIATE_TEST_SUITE_P(Scenarios, ScenarioTimeline,
                         testing::Values("quickstart", "mixtral_8x7b_5d",
                                         "deep_pipeline"),
                         [](const auto& test) { return test.param; });

TEST(TraceFlags, AreRefusedWithWhatWouldBeLegal) {
  const auto refusal = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"simulate", "quickstart"});
    const ProgramResult result = RunOrrery(flags);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    return result.err;
  };
  const std::string file = TestFile("refused.pftrace");
  EXPECT_THAT(refusal({"--trace-ranks", "0"}), HasSubstr("needs --trace FILE"));
  EXPECT_THAT(refusal({"--trace", file, "--trace-ranks", "3-1"}),
              HasSubstr("a list such as 0,8-15"));
  EXPECT_THAT(refusal({"--trace", file, "--trace-ranks", "31"}),
              HasSubstr("--fold=off simulates every rank"));
  EXPECT_THAT(refusal({"--trace", file, "--trace-window", "5ms:1ms"}),
              HasSubstr("a window such as 10ms:25ms"));
  EXPECT_THAT(refusal({"--trace", file, "--trace-window", "5s:6s"}),
              HasSubstr("the step ends after"));
  EXPECT_THAT(refusal({"--trace", file, "--trace-detail", "all"}),
              HasSubstr("step, layer or op"));
  EXPECT_THAT(refusal({"--trace", file, "--trace-format", "json"}),
              HasSubstr("perfetto or kineto"));
  EXPECT_THAT(refusal({"--trace", "/no/such/folder/x"}),
              HasSubstr("cannot write '/no/such/folder/x'"));
  EXPECT_THAT(refusal({"--trace", "/dev/full"}), HasSubstr("No space left"));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(TraceFlags, LessIsWrittenWhenLessIsAskedFor) {
  const std::string file = TestFile("part.pftrace");
  const auto bytes = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"simulate", "quickstart", "--trace", file});
    EXPECT_EQ(RunOrrery(flags).exit_code, 0);
    return std::filesystem::file_size(file);
  };
  const auto all = bytes({});
  EXPECT_LT(bytes({"--trace-ranks", "0"}), all);
  EXPECT_LT(bytes({"--trace-window", "100ms:200ms"}), all);
  const auto layers = bytes({"--trace-detail", "layer"});
  EXPECT_LT(layers, all);
  EXPECT_LT(bytes({"--trace-detail", "step"}), layers);
  std::filesystem::remove(file);
}

// By default the rank on which the critical path spends most of its time is
// shown, though it is not the first of its stage.
TEST(TraceFlags, ThePathsRanksAreShown) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  const std::string file = TestFile("path.pftrace");
  EXPECT_EQ(
      RunOrrery({"simulate", "crossing_groups", "--trace", file}).exit_code, 0);
  const TraceAnswers answers = Ask(
      file,
      {"select count(*) from track where name glob 'rank ' || (select "
       "extract_arg(arg_set_id, 'debug.rank') from slice where category = "
       "'critical path' group by 1 order by sum(dur) desc limit 1) || ' (*'",
       // Everything below the nodes is named for people.
       "select count(*) from track where name glob '*stage 0[0-9]*' or name "
       "glob '*NIC NIC*' or name glob '*chip [0-9]* to switch*'"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_THAT(answers.tables[0], ElementsAre(ElementsAre("1")));
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre("0")));
  std::filesystem::remove(file);
}

// Several runs in one file stand as they follow each other, not by name. A
// viewer sorts what has no parent by name, so that one track is around them.
TEST(TraceFlags, PoolsAndSidesStandInTheirOrder) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  const std::string file = TestFile("order.pftrace");
  const auto order = [&](std::vector<std::string> command) {
    command.insert(command.end(), {"--trace", file});
    EXPECT_EQ(RunOrrery(command).exit_code, 0);
    // What the viewer itself asks.
    TraceAnswers answers =
        Ask(file, {"include perfetto module viz.summary.track_event; select "
                   "child.name from _track_event_tracks_ordered_groups child "
                   "left join track parent on parent.id = child.parent_id "
                   "where parent.id is null or parent.parent_id is null "
                   "order by parent.id is not null, child.order_id"});
    EXPECT_THAT(answers.problems, IsEmpty());
    std::vector<std::string> names;
    for (const auto& row : answers.tables[0]) names.push_back(row[0]);
    return names;
  };
  EXPECT_THAT(order({"simulate", "llama3_70b_pools"}),
              ElementsAre("pools", "prefill pool", "decode pool", "requests"));
  EXPECT_THAT(
      order({"compare", "megatron_22b_selective", "megatron_22b_full",
             "--no-causes"}),
      ElementsAre("comparison", "megatron_22b_selective", "megatron_22b_full"));
  std::filesystem::remove(file);
}

// Of requests as well names are words, and sizes are in GiB.
TEST(TraceFlags, PoolsAreNamedForPeople) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  const std::string file = TestFile("words.pftrace");
  EXPECT_EQ(
      RunOrrery({"simulate", "llama3_70b_pools", "--trace", file}).exit_code,
      0);
  const TraceAnswers answers =
      Ask(file, {"select count(*) from track where name glob '*_*'",
                 "select distinct unit from counter_track where name glob "
                 "'memory*' or name = 'KV cache'"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_THAT(answers.tables[0], ElementsAre(ElementsAre("0")));
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre("GiB")));
  std::filesystem::remove(file);
}

// What calls took longer than alone: as much as the path of the explanation has
// of it is on the ranks of the path.
TEST(TraceFlags, CongestionStandsOnTheCallsThatHadIt) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  const std::string file = TestFile("congestion.pftrace");
  const ProgramResult run =
      RunOrrery({"explain", "crossing_groups", "--no-sensitivities", "--json",
                 "-", "--trace", file});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  double seconds = 0;
  const JsonValue json = ParseJson(run.out).value();
  for (const JsonValue& cause : *json.Find("critical_path")->array()) {
    if (cause.Find("name")->string()->rfind("congestion: ", 0) == 0) {
      seconds += cause.Find("time_s")->number()->value;
    }
  }
  EXPECT_GT(seconds, 0.1);
  const TraceAnswers answers =
      Ask(file, {"select sum(extract_arg(arg_set_id, 'debug.congestion_ps')) "
                 "from slice where category = 'critical path'",
                 // Never more than the call itself.
                 "select count(*) from slice where extract_arg(arg_set_id, "
                 "'debug.congestion_ps') > extract_arg(arg_set_id, "
                 "'debug.dur_ps')"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_NEAR(std::stod(answers.tables[0][0][0]) / 1e12, seconds, 1e-9);
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre("0")));
  std::filesystem::remove(file);
}

// DualPipe runs a forward and a backward pass beside each other, layer by
// layer: each is one slice all the same, and the whole step a picture one can
// look at.
TEST(TraceFlags, PassesThatRunBesideEachOtherAreWhole) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  const std::string file = TestFile("dual.pftrace");
  EXPECT_EQ(RunOrrery({"simulate", "deepseek_v3_2k", "--trace", file,
                       "--trace-detail", "step"})
                .exit_code,
            0);
  const TraceAnswers answers = Ask(
      file,
      {"select count(*) < 20000 from slice",
       // A pass of a micro-batch on a rank is there once.
       "select max(n) from (select count(*) as n from slice where category = "
       "'pass' and name glob '* mb *' group by extract_arg(arg_set_id, "
       "'debug.rank'), name)",
       // Some do run beside each other.
       "select count(*) > 0 from slice a join slice b on a.category = "
       "'pipeline' and b.category = 'pipeline' and a.id < b.id and b.ts < a.ts "
       "+ a.dur and a.ts < b.ts + b.dur and extract_arg(a.arg_set_id, "
       "'debug.rank') = 0 and extract_arg(b.arg_set_id, 'debug.rank') = 0"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_THAT(answers.tables[0], ElementsAre(ElementsAre("1")));
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre("1")));
  EXPECT_THAT(answers.tables[2], ElementsAre(ElementsAre("1")));
  std::filesystem::remove(file);
}

// An engine that runs its batch in halves, one beside the other: each half of
// each step is whole, and steps of either kind are counted from 0.
TEST(TraceFlags, HalvesOfABatchAreWhole) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  const std::string file = TestFile("halves.pftrace");
  ASSERT_EQ(
      RunOrrery({"simulate", "deepseek_v3_pools", "--trace", file}).exit_code,
      0);
  const TraceAnswers answers =
      Ask(file,
          {"select distinct name from slice where category = 'pipeline' order "
           "by ts, name",
           "select count(*) - count(distinct name) from slice where category "
           "= 'pipeline'",
           "select distinct extract_arg(arg_set_id, 'debug.step'), "
           "extract_arg(arg_set_id, 'debug.part') from slice where name = "
           "'decode 3 part 1'",
           "select count(*) from slice where name = 'decode step 0'"});
  EXPECT_THAT(answers.problems, IsEmpty());
  const SqlTable passes = {
      {"prefill 0 part 0"}, {"prefill 0 part 1"}, {"decode 0 part 0"},
      {"decode 0 part 1"},  {"decode 1 part 0"},  {"decode 1 part 1"},
      {"decode 2 part 0"},  {"decode 2 part 1"},  {"decode 3 part 0"},
      {"decode 3 part 1"},
  };
  EXPECT_EQ(answers.tables[0], passes);
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre("0")));
  EXPECT_THAT(answers.tables[2], ElementsAre(ElementsAre("3", "1")));
  EXPECT_THAT(answers.tables[3], ElementsAre(ElementsAre("1")));
  std::filesystem::remove(file);
}

TEST(TraceFlags, KinetoWritesAFilePerRank) {
  const std::string folder = TestFile("kineto");
  EXPECT_EQ(RunOrrery({"simulate", "quickstart", "--trace", folder,
                       "--trace-format", "kineto"})
                .exit_code,
            0);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
    EXPECT_OK(ReadFile(entry.path().string(), 64 << 20).status());
  }
  std::sort(names.begin(), names.end());
  EXPECT_THAT(names, ElementsAre("rank_0.json", "rank_16.json"));
  // Activations in BF16, gradients and what is summed of losses in FP32.
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  const TraceAnswers answers =
      Ask(folder + "/rank_0.json",
          {"select distinct extract_arg(arg_set_id, 'args.Collective name'), "
           "extract_arg(arg_set_id, 'args.Process Group Description'), "
           "extract_arg(arg_set_id, 'args.dtype') from slice where name glob "
           "'nccl*' order by 1, 2, 3"});
  EXPECT_THAT(answers.problems, IsEmpty());
  const SqlTable expected = {
      {"_allgather_base", "shard gather", "BFloat16"},
      {"_allgather_base", "tensor", "BFloat16"},
      {"_reduce_scatter_base", "shard", "Float"},
      {"_reduce_scatter_base", "tensor", "BFloat16"},
      {"allreduce", "model", "Float"},
      {"allreduce", "tensor", "Float"},
      {"recv", "pipeline backward", "BFloat16"},
      {"send", "pipeline forward", "BFloat16"},
  };
  EXPECT_EQ(answers.tables[0], expected);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace orrery
