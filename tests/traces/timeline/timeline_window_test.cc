// Timelines of a part of a run: what is recorded for them, and that they show
// no less and no more than that part of the whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "catalog/resolve.h"
#include "cli/commands/trace_output.h"
#include "run/run_scenario.h"
#include "sim/analysis/memory_changes.h"
#include "sim/analysis/span_index.h"
#include "tests/cli/run_orrery.h"
#include "tests/status_matchers.h"
#include "tests/traces/trace_processor.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Time kFrom{std::chrono::milliseconds(1100)};
constexpr Time kTo{std::chrono::milliseconds(1150)};

SimulatedRun Recorded(std::optional<RecordingWindow> window) {
  const auto scenario =
      MakeScenario(ResolveScenario(Catalog(), "crossing_groups", {}).value());
  RunOptions how;
  RecordForTrace(how);
  how.window = window;
  return RunScenario(*scenario, how).value();
}

// Of every rank what waits or runs in the window; what follows until its
// compute stream goes on, and nothing else; and what the tasks before it left
// of its memory.
TEST(TraceWindow, BoundsWhatIsRecorded) {
  const SimulatedRun whole = Recorded(std::nullopt);
  const SimulatedRun part = Recorded(RecordingWindow{kFrom, kTo});
  std::vector<TaskSpan> expected;
  std::set<RankId> past;
  size_t follow = 0;
  for (const TaskSpan& span : whole.spans) {
    const bool inside = span.headed < kTo && span.ended > kFrom;
    const bool follows = span.headed >= kTo && !past.contains(span.rank);
    if (inside || follows) expected.push_back(span);
    follow += follows;
    if (span.stream == kComputeStream && span.ended >= kTo) {
      past.insert(span.rank);
    }
  }
  ASSERT_GT(expected.size(), 1000u);
  EXPECT_GT(follow, 0u);
  EXPECT_LT(follow, expected.size() / 2);
  EXPECT_TRUE(part.spans == expected);
  EXPECT_LT(part.spans.size(), whole.spans.size() / 10);
  EXPECT_LT(part.log.rates.size(), whole.log.rates.size() / 2);

  const Program& program = whole.placed.program;
  const SpanIndex all(program, whole.spans), some(program, part.spans);
  const auto held = [&](const SpanIndex& spans, RankId rank, Time at) {
    Bytes sum;
    for (const MemoryChange& c : MemoryChanges(program, spans, rank)) {
      if (c.at <= at) sum += c.bytes;
    }
    return sum;
  };
  for (const RankId rank : program.ranks().ids()) {
    Bytes before;
    for (const Bytes kind : part.memory_before[rank]) before += kind;
    for (const Time at : {kFrom, kFrom + (kTo - kFrom) / 2}) {
      EXPECT_EQ(before + held(some, rank, at), held(all, rank, at));
    }
  }
}

struct WindowCase {
  const char* name;
  std::vector<std::string> words;
  const char* window;
};

class TraceWindowOf : public testing::TestWithParam<WindowCase> {};

// A window that is recorded alone shows what it shows of a run that was
// recorded as a whole: the same tasks, waits, passes and values of counters.
TEST_P(TraceWindowOf, AWindowAloneShowsTheSame) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  const std::string file = TestFile("window.pftrace");
  const auto ask = [&](const std::string& command) {
    std::vector<std::string> words = {command};
    words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());
    words.insert(words.end(),
                 {"--trace", file, "--trace-window", GetParam().window});
    if (command == "explain") words.push_back("--no-sensitivities");
    const ProgramResult result = RunOrrery(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    TraceAnswers answers = Ask(
        file, {"select category, count(*), sum(dur), sum(extract_arg("
               "arg_set_id, 'debug.dur_ps')) from slice where category not "
               "in ('critical path', 'wait') group by 1 order by 1",
               "select name, ts, dur, extract_arg(arg_set_id, 'debug.rank'), "
               "extract_arg(arg_set_id, 'debug.kernels'), "
               "extract_arg(arg_set_id, 'debug.kernels_ps') from slice where "
               "category = 'pipeline' order by 4, 2, 1",
               "select extract_arg(arg_set_id, 'debug.cause'), sum(dur) "
               "from slice where category = 'wait' group by 1 order by 1",
               "select t.name, count(*), sum(c.value) from counter c join "
               "track t on t.id = c.track_id group by t.id order by t.id",
               "select end_ts - start_ts from trace_bounds",
               // Another path where no more is known, but one through it all.
               "select sum(dur) from slice where category = "
               "'critical path'"});
    EXPECT_THAT(answers.problems, IsEmpty());
    std::filesystem::remove(file);
    return answers.tables;
  };
  // `explain` records everything.
  const auto whole = ask("explain");
  const auto part = ask("simulate");
  ASSERT_EQ(part.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(part[i], whole[i]) << i;
  EXPECT_FALSE(whole[1].empty());
  EXPECT_THAT(whole[4], ElementsAre(ElementsAre("50000000")));
  EXPECT_THAT(whole[5], ElementsAre(ElementsAre("50000000")));
}

INSTANTIATE_TEST_SUITE_P(
    Plans, TraceWindowOf,
    testing::Values(
        // Nothing is folded; one rank of each stage, and every rank.
        WindowCase{"two_ranks",
                   {"crossing_groups", "--trace-ranks", "0,64"},
                   "1100ms:1150ms"},
        WindowCase{"all_ranks",
                   {"crossing_groups", "--trace-ranks", "0-127"},
                   "300ms:350ms"},
        // Passes run beside each other, begin before the window and end after
        // it.
        WindowCase{"beside_each_other",
                   {"quickstart", "--set", "training.schedule=DUAL_PIPE",
                    "--trace-ranks", "0,16"},
                   "400ms:450ms"}),
    [](const auto& test) { return std::string(test.param.name); });

// Requests are cut as well: nothing lies outside of the window, and the cache
// is as full as the last step made it.
TEST(TraceWindow, CutsRequests) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  const std::string file = TestFile("requests.pftrace");
  const auto ask = [&](const std::vector<std::string>& window) {
    std::vector<std::string> words = {"simulate", "llama3_70b_fp8_serving",
                                      "--trace", file};
    words.insert(words.end(), window.begin(), window.end());
    EXPECT_EQ(RunOrrery(words).exit_code, 0);
    TraceAnswers answers = Ask(
        file,
        {"select start_ts, end_ts from trace_bounds",
         "select c.value from counter c join track t on t.id = c.track_id "
         "where t.name = 'KV cache' and c.ts <= 300000000 order by c.ts desc "
         "limit 1",
         "select count(*) > 0 from slice where name = 'waits'"});
    EXPECT_THAT(answers.problems, IsEmpty());
    std::filesystem::remove(file);
    return answers.tables;
  };
  const auto part = ask({"--trace-window", "300ms:400ms"});
  EXPECT_THAT(part[0], ElementsAre(ElementsAre("300000000", "400000000")));
  EXPECT_THAT(part[2], ElementsAre(ElementsAre("1")));
  EXPECT_EQ(part[1], ask({})[1]);
}

}  // namespace
}  // namespace orrery
