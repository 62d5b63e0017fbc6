// Requests on a timeline as Perfetto reads it, held against the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/json.h"
#include "tests/cli/run_orrery.h"
#include "tests/traces/trace_processor.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct RequestCase {
  const char* name;
  std::vector<std::string> words;
  // Steps of a pipeline overlap, and host and chip of some engines do: as far
  // as they may end from the report's sum.
  double overlap = 0;
  // The token of the first decode step: the prompt gives the first one, unless
  // the engine makes it by a decode step.
  int64_t first_decoded = 2;
};

class RequestsOnATimeline : public testing::TestWithParam<RequestCase> {
 protected:
  struct Drawn {
    double reported_s = 0;
    int64_t decode_steps = 0;
    std::string said;
    TraceAnswers answers;
  };
  static Drawn Draw(std::vector<std::string> more) {
    const std::string file =
        TestFile(fmt::format("{}{}.pftrace", GetParam().name, more.size()));
    std::vector<std::string> words = {"simulate"};
    words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--trace", file, "--json", "-"});
    const ProgramResult run = RunOrrery(words);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const JsonValue json = ParseJson(run.out).value();
    const JsonValue& result = *json.Find("inference");
    Drawn drawn{
        .reported_s = result.Find("end_to_end_s")->number()->value,
        .decode_steps =
            static_cast<int64_t>(result.Find("decode_steps")->number()->value),
        .said = run.err,
        .answers = Ask(
            file,
            {"select max(ts + dur) from slice",
             "select count(*) from slice s join track t on s.track_id = t.id "
             "where t.name = 'steps' and s.name glob 'decode step *'",
             "select s.name, s.dur from slice s join track t on s.track_id = "
             "t.id where t.name = 'steps' and s.name glob '*not drawn*'",
             "select count(distinct t.id) from slice s join track t on "
             "s.track_id = t.id where t.name glob 'request*' and s.name glob "
             "'*not drawn*'",
             "select min(cast(substr(name, 7) as int)), max(cast(substr(name, "
             "7) as int)), count(distinct name) from slice where name glob "
             "'token *'"})};
    EXPECT_THAT(drawn.answers.problems, IsEmpty());
    std::filesystem::remove(file);
    return drawn;
  }
};

// The trace draws few steps, says how many it leaves out and how long they
// take, and ends where the report does.
TEST_P(RequestsOnATimeline, ASampleEndsWhereTheReportDoes) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  const Drawn drawn = Draw({});
  const auto& tables = drawn.answers.tables;
  EXPECT_NEAR(std::stod(tables[0][0][0]) / 1e9, drawn.reported_s, 2e-9);
  EXPECT_THAT(tables[1], ElementsAre(ElementsAre("4")));
  ASSERT_EQ(tables[2].size(), 1u);
  EXPECT_THAT(tables[2][0][0], HasSubstr(fmt::format("{} more decode steps, ",
                                                     drawn.decode_steps - 4)));
  EXPECT_GT(std::stod(tables[3][0][0]), 0);
  EXPECT_THAT(drawn.said, HasSubstr(fmt::format("4 of {} decode steps",
                                                drawn.decode_steps)));
}

// With every step drawn nothing is left out, and where steps do not overlap
// their end is that of the report.
TEST_P(RequestsOnATimeline, EveryTokenIsDrawnIfAskedFor) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  const Drawn drawn = Draw({"--every-token", "--trace-detail", "step"});
  const auto& tables = drawn.answers.tables;
  EXPECT_THAT(tables[1],
              ElementsAre(ElementsAre(fmt::to_string(drawn.decode_steps))));
  EXPECT_THAT(tables[2], IsEmpty());
  EXPECT_THAT(drawn.said, Not(HasSubstr("decode steps;")));
  // Tokens are counted up to the last one of the output.
  const int64_t last = GetParam().first_decoded + drawn.decode_steps - 1;
  EXPECT_THAT(tables[4],
              ElementsAre(ElementsAre(fmt::to_string(GetParam().first_decoded),
                                      fmt::to_string(last),
                                      fmt::to_string(drawn.decode_steps))));
  const double end = std::stod(tables[0][0][0]) / 1e9;
  if (GetParam().overlap == 0) {
    EXPECT_NEAR(end, drawn.reported_s, 2e-9);
  } else {
    EXPECT_NEAR(end / drawn.reported_s, 1, GetParam().overlap);
    // A smaller difference is not worth a word.
    constexpr double kSaidFrom = 1e-4;
    if (GetParam().overlap > kSaidFrom) {
      EXPECT_THAT(drawn.said, HasSubstr("the report adds them up to"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Scenarios, RequestsOnATimeline,
    testing::Values(
        RequestCase{"one_node", {"llama3_70b_fp8_serving"}},
        RequestCase{"pools", {"llama3_70b_pools"}},
        // The host of this engine works beside the next step.
        RequestCase{"mixture",
                    {"qwen3_235b_serving", "--set", "inference.output=40"},
                    0.001},
        RequestCase{
            "pipeline",
            {"llama3_70b_fp8_serving", "--set", "inference.parallel.tensor=4",
             "--set", "inference.parallel.pipeline=2", "--set",
             "inference.output=40"},
            0.02},
        RequestCase{
            "pipeline_of_parts",
            {"llama3_70b_fp8_serving", "--set", "inference.parallel.tensor=4",
             "--set", "inference.parallel.pipeline=2", "--set",
             "inference.micro_batches=4", "--set", "inference.output=40"},
            0.02},
        // Prompts of this engine give no token: 8 tokens take 8 decode steps.
        // Steps follow each other a little closer than one by one.
        RequestCase{"first_token_by_decode",
                    {"llama3_70b_fp8_serving", "--set",
                     "inference.engine.preset=fastertransformer_4", "--set",
                     "inference.output=8"},
                    1e-5,
                    1}),
    [](const auto& test) { return std::string(test.param.name); });

// A window that begins where nothing is drawn is refused with the remedy.
TEST(TraceWindow, SaysWhereASampleEnds) {
  const std::string file = TestFile("late.pftrace");
  const ProgramResult run =
      RunOrrery({"simulate", "llama3_70b_fp8_serving", "--trace", file,
                 "--trace-window", "6s:7s"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("4 of 255 decode steps"));
  EXPECT_THAT(run.err, HasSubstr("--every-token"));
}

}  // namespace
}  // namespace orrery
