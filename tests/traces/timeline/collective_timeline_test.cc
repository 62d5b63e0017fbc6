// Timelines of collectives by themselves, as Perfetto reads them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/format.h"
#include "base/json.h"
#include "tests/cli/run_orrery.h"
#include "tests/traces/trace_processor.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CollectiveTimeline : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  }
  ~CollectiveTimeline() override { std::filesystem::remove(file_); }

  // The reported times in nanoseconds, rounded down as the trace's are.
  std::vector<std::string> Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"collective", "--system", "dgx_h100_ib400", "--json", "-",
                      "--trace", file_});
    const ProgramResult run = RunOrrery(arguments);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("this shows them: orrery view"));
    std::vector<std::string> times;
    const JsonValue json = ParseJson(run.out).value();
    for (const JsonValue& row : *json.Find("rows")->array()) {
      times.push_back(fmt::to_string(static_cast<int64_t>(
          row.Find("time_s")->number()->value * 1e9 + 1e-6)));
    }
    return times;
  }

  const std::string file_ = TestFile("collective.pftrace");
};

constexpr char kSums[] =
    "select sum(extract_arg(arg_set_id, 'debug.bytes')) from slice "
    "where category = 'message' and name glob '";

// A ring over p = 16 ranks sends 2(p-1) steps of m/p from each of them: in all
// 2 x 15 x 64 MB = 1920 MB, however finely it is simulated. Over nodes of 8 it
// is 8 rings of an eighth each, one per rail.
TEST_P(CollectiveTimeline, ShowsTheTimeAndTheBytesOfTheTable) {
  const std::vector<std::string> times =
      Run({"--nodes", "2", "--size", "64MB", "--algorithm", "ring",
           "--fidelity", GetParam()});
  const TraceAnswers answers = Ask(
      file_,
      {"select dur from slice where category = 'collective'",
       "select max(ts + dur), min(ts) from slice where category = 'message'",
       std::string(kSums) + "send to*'", std::string(kSums) + "receive from*'",
       "select count(*) from slice where category = 'message' and "
       "(extract_arg(arg_set_id, 'debug.algorithm') not glob 'ring *' or "
       "extract_arg(arg_set_id, 'debug.step') is null or "
       "extract_arg(arg_set_id, 'debug.peer') is null)",
       "select count(distinct p.name) from slice join track t on t.id = "
       "track_id join track p on p.id = t.parent_id where category = "
       "'message' and p.name glob 'rank *'",
       "select count(*), count(distinct extract_arg(s.arg_set_id, "
       "'debug.step')) from flow join slice s on s.id = slice_out",
       "select min(value) >= 0, max(value) <= 100.001 from counter"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_THAT(answers.tables[0], ElementsAre(ElementsAre(times[0])));
  EXPECT_EQ(answers.tables[1][0][0], times[0]);
  EXPECT_NEAR(std::stod(answers.tables[2][0][0]), 1920e6, 1);
  EXPECT_NEAR(std::stod(answers.tables[3][0][0]), 1920e6, 1);
  EXPECT_EQ(answers.tables[4][0][0], "0");
  EXPECT_EQ(answers.tables[5][0][0], "16");
  // 30 steps of 16 messages on 8 rings, one arrow each.
  const bool stepped = GetParam() == "STEPPED";
  EXPECT_THAT(answers.tables[6][0],
              ElementsAre(stepped ? "3840" : "0", stepped ? "30" : "0"));
  if (GetParam() != "CLOSED_FORM") {
    EXPECT_THAT(answers.tables[7][0], ElementsAre("1", "1"));
  }
}

INSTANTIATE_TEST_SUITE_P(Fidelities, CollectiveTimeline,
                         testing::Values("CLOSED_FORM", "FLUID", "STEPPED"),
                         [](const auto& test) { return test.param; });

using CollectiveTimelineOnce = CollectiveTimeline;

// The area under a link's load is what it carried: a NIC at the bottleneck is
// full while bytes flow.
TEST_F(CollectiveTimelineOnce, ALinkAtTheBottleneckIsFull) {
  Run({"--nodes", "2", "--size", "1GB", "--op", "point_to_point"});
  const TraceAnswers answers =
      Ask(file_, {"select max(value) from counter c join track t on t.id = "
                  "c.track_id where t.name glob '* load'"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_NEAR(std::stod(answers.tables[0][0][0]), 100, 0.001);
}

// NVLS over 8: each rank sends m up and gets its part m/8, sends it and gets m;
// the switch the reverse. In all 2 x 8 x (1 + 1/8) m = 18 m.
TEST_F(CollectiveTimelineOnce, SwitchesSendAndReceiveToo) {
  Run({"--size", "1GB", "--algorithm", "nvls"});
  const TraceAnswers answers =
      Ask(file_, {std::string(kSums) + "send to*'",
                  std::string(kSums) + "send to switch*'"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_NEAR(std::stod(answers.tables[0][0][0]), 18e9, 1);
  EXPECT_NEAR(std::stod(answers.tables[1][0][0]), 9e9, 1);
}

TEST_F(CollectiveTimelineOnce, SizesFollowOneAnother) {
  const std::vector<std::string> times = Run({"--size", "1MB..4MB"});
  ASSERT_EQ(times.size(), 3u);
  const TraceAnswers answers = Ask(
      file_,
      {"select extract_arg(arg_set_id, 'debug.bytes') from slice where "
       "category = 'collective' order by ts",
       "select count(*) from (select ts, lag(ts + dur) over (order by ts) as "
       "before from slice where category = 'collective') where ts != before",
       "select sum(extract_arg(arg_set_id, 'debug.dur_ps')) / 1000 = "
       "max(ts + dur) from slice where category = 'collective'"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_THAT(answers.tables[0],
              ElementsAre(ElementsAre("1000000"), ElementsAre("2000000"),
                          ElementsAre("4000000")));
  EXPECT_EQ(answers.tables[1][0][0], "0");
  EXPECT_EQ(answers.tables[2][0][0], "1");
}

TEST_F(CollectiveTimelineOnce, AFileThatCannotBeWrittenIsRefused) {
  const ProgramResult run =
      RunOrrery({"collective", "--system", "dgx_h100_ib400", "--size", "1MB",
                 "--trace", "/no/such/folder/x"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("cannot write '/no/such/folder/x'"));
}

}  // namespace
}  // namespace orrery
