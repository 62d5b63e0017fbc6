// The export for PyTorch's tools: as text, and as Perfetto reads it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <utility>
#include <vector>

#include "base/file.h"
#include "sim/analysis/step_breakdown.h"
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
    Write(RankId(3));
  }
  void Write(RankId rank) const {
    KinetoWriter writer =
        KinetoWriter::Create(file_, {.rank = static_cast<int64_t>(rank),
                                     .world_size = 4,
                                     .device_name = "a \"chip\""})
            .value();
    WriteKineto(program_, sink_.spans(), SimulatedGroupSizes(program_),
                /*groups=*/nullptr, rank, {}, writer);
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
       "select name from process where name is not null",
       // The two ends of a channel, and every call of a group by its number.
       "select distinct extract_arg(arg_set_id, 'args.Collective name'), "
       "extract_arg(arg_set_id, 'args.Src Rank'), extract_arg(arg_set_id, "
       "'args.Dst Rank'), extract_arg(arg_set_id, 'args.Process Group Ranks') "
       "from slice where name = 'ncclDevKernel_SendRecv' order by 1",
       "select count(*), count(distinct extract_arg(arg_set_id, 'args.Seq')), "
       "max(extract_arg(arg_set_id, 'args.Seq')), min(extract_arg(arg_set_id, "
       "'args.Process Group Description')) from slice where name = "
       "'ncclDevKernel_AllReduce_Sum'"});
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
  EXPECT_THAT(answers.tables[5],
              ElementsAre(ElementsAre("recv", "1", "3", "[1, 3]"),
                          ElementsAre("send", "3", "1", "[3, 1]")));
  // A sum per layer, pass and micro-batch: 2 x 2 x 3, numbered from 0.
  EXPECT_THAT(answers.tables[6],
              ElementsAre(ElementsAre("12", "12", "11", "tensor")));
}

// What calls carry is counted in its own elements where it is known, and in
// bytes where that is no whole number of them.
TEST_F(KinetoTest, CallsAreCountedInTheirElements) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  const auto sizes = [&](std::optional<DType> dtype) {
    KinetoWriter writer = KinetoWriter::Create(file_, {.rank = 3}).value();
    WriteKineto(program_, sink_.spans(), SimulatedGroupSizes(program_),
                /*groups=*/nullptr, RankId(3), {}, writer,
                [&](const Role&, TaskId) { return dtype; });
    EXPECT_OK(writer.Finish());
    return Ask(file_, {"select distinct extract_arg(arg_set_id, 'args.dtype'), "
                       "extract_arg(arg_set_id, 'args.In msg nelems'), "
                       "extract_arg(arg_set_id, 'args.Out msg nelems') from "
                       "slice where name = 'ncclDevKernel_AllReduce_Sum'"})
        .tables[0];
  };
  const auto bytes = sizes(std::nullopt);
  ASSERT_EQ(bytes.size(), 1u);
  EXPECT_EQ(bytes[0][0], "Byte");
  const int64_t whole = std::stoll(bytes[0][1]);
  const auto of = [&](const char* name, int64_t size) {
    const std::string count = fmt::to_string(whole / size);
    return std::vector<std::string>{name, count, count};
  };
  ASSERT_EQ(whole % 4, 0);
  EXPECT_THAT(sizes(DType::kBf16), ElementsAre(of("BFloat16", 2)));
  EXPECT_THAT(sizes(DType::kFp32), ElementsAre(of("Float", 4)));
  EXPECT_THAT(sizes(DType::kFp8), ElementsAre(of("Float8_e4m3fn", 1)));
  // Formats that PyTorch's calls do not have.
  EXPECT_EQ(sizes(DType::kFp12), bytes);
}

// Ten elements over three ranks: four, three, three. None is lost.
TEST_F(KinetoTest, PartsAddUpToTheWhole) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  KinetoWriter writer = KinetoWriter::Create(file_, {}).value();
  writer.Add({.name = "ncclDevKernel_SendRecv",
              .end = Time(Duration(1000)),
              .collective = KinetoCollective{.name = "all_to_allv",
                                             .group = "expert[0]",
                                             .description = "expert",
                                             .group_size = 3,
                                             .dtype = "BFloat16",
                                             .element = Bytes(2),
                                             .in = Bytes(20),
                                             .out = Bytes(20),
                                             .splits = true}});
  EXPECT_OK(writer.Finish());
  const auto answers =
      Ask(file_, {"select extract_arg(arg_set_id, 'args.In msg nelems'), "
                  "extract_arg(arg_set_id, 'args.In split size') from slice "
                  "where name glob 'nccl*'"});
  EXPECT_THAT(answers.tables[0], ElementsAre(ElementsAre("10", "[4, 3, 3]")));
}

// Holistic Trace Analysis, re-stated: of the time from a rank's first device
// event to its last, computation is the union of what is not named nccl, idle
// what no device event covers, and the rest communication that nothing hides.
// Rank 0 is of the first stage, which waits for the gradients of the second.
TEST_F(KinetoTest, AnalysisFindsTheBubble) {
  if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  constexpr RankId kFirst{0};
  Write(kFirst);
  const auto covered = [](const std::string& which) {
    return fmt::format(
        "select sum(reach - max(ts, coalesce(before, ts))) from (select ts, ts "
        "+ dur as reach, max(ts + dur) over (order by ts, id rows between "
        "unbounded preceding and 1 preceding) as before from slice where "
        "category = 'kernel' {}) where before is null or reach > before",
        which);
  };
  const TraceAnswers answers =
      Ask(file_, {"select max(ts + dur) - min(ts) from slice where category = "
                  "'kernel'",
                  covered(""), covered("and name not glob 'nccl*'")});
  const int64_t length = std::stoll(answers.tables[0][0][0]);
  const int64_t idle = length - std::stoll(answers.tables[1][0][0]);
  const int64_t computation = std::stoll(answers.tables[2][0][0]);
  // What the rank's own breakdown has of the same: kernels; and bubbles, where
  // no communication of its own is under way beside them.
  BreakdownSink sink(program_, kFirst);
  Time first = Time::max(), last{}, end{};
  std::vector<std::pair<Time, Time>> calls;
  for (const TaskSpan& span : sink_.spans()) {
    sink.Add(span);
    end = std::max(end, span.ended);
    if (span.rank != kFirst || span.kind == SpanKind::kMarker) continue;
    const Time start =
        span.kind == SpanKind::kCollective ? span.ready : span.started;
    if (span.kind != SpanKind::kKernel) calls.emplace_back(start, span.ended);
    first = std::min(first, start);
    last = std::max(last, span.ended);
  }
  std::sort(calls.begin(), calls.end());
  const StepBreakdown parts = sink.Finish(end);
  Duration bubble{};
  for (const Bubble& each : sink.bubbles()) {
    Time at = std::max(each.from, first);
    const Time to = std::min(each.to, last);
    for (const auto& [call_start, call_end] : calls) {
      bubble += std::max(Duration(0), std::min(call_start, to) - at);
      at = std::max(at, std::min(call_end, to));
    }
    bubble += std::max(Duration(0), to - at);
  }
  // Every instant is rounded down to a nanosecond.
  const auto rounding =
      static_cast<double>(sink_.spans().size()) * 2;  // nanoseconds
  EXPECT_NEAR(static_cast<double>(computation),
              ToSeconds(parts.kernels.total()) * 1e9, rounding);
  EXPECT_NEAR(static_cast<double>(idle), ToSeconds(bubble) * 1e9, rounding);
  EXPECT_GT(idle, length / 50);
}

TEST(KinetoWriter, SaysWhatIsWrongWithThePath) {
  EXPECT_THAT(KinetoWriter::Create("/no/such/folder/x.json", {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("cannot write")));
}

}  // namespace
}  // namespace orrery
