// The export for PyTorch's tools: as text, and as Perfetto reads it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "base/file.h"
#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "tests/status_matchers.h"
#include "tests/traces/timeline/pipeline_program.h"
#include "tests/traces/trace_processor.h"
#include "traces/timeline/timeline_kineto.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class KinetoTest : public testing::Test {
 protected:
  KinetoTest() {
    EXPECT_OK(
        Simulate(program_, PipelineNetwork(program_), {}, sink_).status());
    KinetoWriter writer =
        KinetoWriter::Create(
            file_, {.rank = 3, .world_size = 4, .device_name = "a \"chip\""})
            .value();
    WriteKineto(program_, sink_.spans(), SimulatedGroupSizes(program_),
                /*groups=*/nullptr, RankId(3), {}, writer);
    EXPECT_OK(writer.Finish());
  }
  ~KinetoTest() override { std::filesystem::remove(file_); }

  const Program program_ = BuildOrDie(PipelineProgram());
  RecordingSink sink_;
  const std::string file_ =
      testing::TempDir() + "/orrery_kineto_" +
      testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
};

// The rank is found by text search: a colon, at least one blank, digits; the
// first hit wins.
TEST_F(KinetoTest, TheRankIsFoundWhereToolsLookForIt) {
  const std::string text = ReadFile(file_).value();
  std::smatch match;
  ASSERT_TRUE(
      std::regex_search(text, match, std::regex("\"rank\":\\s+([0-9]+)")));
  EXPECT_EQ(match[1], "3");
  EXPECT_LT(static_cast<size_t>(match.position()), text.find("traceEvents"));
  EXPECT_THAT(text, HasSubstr(R"("name": "a \"chip\"")"));
}

// Threads are named by the numbers that events carry.
TEST_F(KinetoTest, EveryStreamHasItsName) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  const TraceAnswers answers =
      Ask(file_, {"select distinct t.name from slice s join thread_track tt on "
                  "tt.id = s.track_id join thread t using (utid) order by 1"});
  EXPECT_THAT(
      answers.tables[0],
      ElementsAre(ElementsAre("compute"), ElementsAre("host"),
                  ElementsAre("pipeline backward"),
                  ElementsAre("pipeline forward"), ElementsAre("tensor")));
}

TEST_F(KinetoTest, PerfettoSeesTheSameTimes) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  int64_t kernels = 0, kernel_time = 0, calls = 0, call_time = 0;
  for (const TaskSpan& span : sink_.spans()) {
    if (span.rank != RankId(3) || span.kind == SpanKind::kMarker) continue;
    const bool is_kernel = span.kind == SpanKind::kKernel;
    // A collective spins on the device until all are there; a receive is not on
    // the device before there is something to receive.
    const Time start =
        span.kind == SpanKind::kCollective ? span.ready : span.started;
    (is_kernel ? kernels : calls) += 1;
    (is_kernel ? kernel_time : call_time) +=
        span.ended.time_since_epoch().count() / 1000 -
        start.time_since_epoch().count() / 1000;
  }
  const TraceAnswers answers =
      Ask(file_, {"select name glob 'nccl*', count(*), sum(dur) from slice "
                  "where category = 'kernel' group by 1 order by 1",
                  "select distinct name, extract_arg(arg_set_id, "
                  "'args.Collective name') from slice where name glob 'nccl*' "
                  "order by 1, 2",
                  "select distinct category from slice"});
  EXPECT_THAT(answers.problems, IsEmpty());
  EXPECT_THAT(answers.tables[0],
              ElementsAre(ElementsAre("0", fmt::to_string(kernels),
                                      fmt::to_string(kernel_time)),
                          ElementsAre("1", fmt::to_string(calls),
                                      fmt::to_string(call_time))));
  EXPECT_THAT(
      answers.tables[1],
      ElementsAre(ElementsAre("ncclDevKernel_AllReduce_Sum", "allreduce"),
                  ElementsAre("ncclDevKernel_SendRecv", "recv"),
                  ElementsAre("ncclDevKernel_SendRecv", "send")));
  EXPECT_THAT(answers.tables[2],
              testing::UnorderedElementsAre(ElementsAre("kernel"),
                                            ElementsAre("cuda_runtime"),
                                            ElementsAre("user_annotation")));
}

// What tools join and cut by: every device event has its launch in the step,
// before it starts; communication says who takes part.
TEST_F(KinetoTest, StepsLaunchesAndGroupsAreThere) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  Time end{};
  for (const TaskSpan& span : sink_.spans()) end = std::max(end, span.ended);
  const TraceAnswers answers = Ask(
      file_,
      {"select name, ts, dur from slice where category = 'user_annotation' "
       "order by ts",
       "select count(*), sum(l.ts <= k.ts) from slice k left join slice l on "
       "l.category = 'cuda_runtime' and extract_arg(l.arg_set_id, "
       "'args.correlation') = extract_arg(k.arg_set_id, 'args.correlation') "
       "and extract_arg(l.arg_set_id, 'args.External id') = "
       "extract_arg(k.arg_set_id, 'args.External id') where k.category = "
       "'kernel'",
       "select count(*) from slice where category = 'kernel'",
       "select distinct extract_arg(arg_set_id, 'args.Process Group Ranks'), "
       "extract_arg(arg_set_id, 'args.dtype'), extract_arg(arg_set_id, "
       "'args.In split size') from slice where name = "
       "'ncclDevKernel_AllReduce_Sum'",
       "select name from process where name is not null"});
  EXPECT_THAT(answers.problems, IsEmpty());
  const std::string length =
      fmt::to_string(end.time_since_epoch().count() / 1000);
  EXPECT_THAT(answers.tables[0],
              ElementsAre(ElementsAre("ProfilerStep#1", "0", length),
                          ElementsAre("ProfilerStep#2", length, "1000")));
  const std::string events = answers.tables[2][0][0];
  EXPECT_THAT(answers.tables[1], ElementsAre(ElementsAre(events, events)));
  // The tensor group of the second stage; in whole, not in parts.
  EXPECT_THAT(answers.tables[3],
              ElementsAre(ElementsAre("[2, 3]", "Byte", "[]")));
  EXPECT_THAT(answers.tables[4],
              ElementsAre(ElementsAre("python"), ElementsAre("python")));
}

TEST(KinetoWriter, SaysWhatIsWrongWithThePath) {
  EXPECT_THAT(KinetoWriter::Create("/no/such/folder/x.json", {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("cannot write")));
}

}  // namespace
}  // namespace orrery
