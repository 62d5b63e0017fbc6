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
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace orrery
