#pragma once
// TimelineTest: the timeline of a small pipeline, written and asked about by
// SQL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "tests/status_matchers.h"
#include "tests/traces/timeline/pipeline_program.h"
#include "tests/traces/trace_processor.h"
#include "traces/timeline/timeline.h"

namespace orrery {

inline int64_t Floored(const TaskSpan& span) {
  return Floor(span.ended) - Floor(span.started);
}

inline constexpr Bytes kReserved(3'000'000);
inline constexpr Bytes kCapacity(20'000'000);

class TimelineTest : public testing::Test {
 protected:
  TimelineTest() {
    result_ = Simulate(program_, transfers_, {.log = &log_}, sink_).value();
    index_.emplace(program_, sink_.spans());
    path_ = CriticalPath(*index_);
  }
  ~TimelineTest() override { std::filesystem::remove(file_); }
  void SetUp() override {
    if (!HasTraceProcessor()) FAIL() << kNoTraceProcessor;
  }

  // Writes the timeline and asks about it. The slices must be as predicted.
  TraceAnswers WriteAndAsk(const TimelineOptions& options,
                           const std::vector<std::string>& sql) {
    PerfettoWriter writer = PerfettoWriter::Create(file_).value();
    const GroupSizes sizes = SimulatedGroupSizes(program_);
    const TimelineSource source = {.program = program_,
                                   .spans = *index_,
                                   .path = path_,
                                   .transfers = transfers_,
                                   .log = log_,
                                   .ops = ops_,
                                   .group_sizes = sizes,
                                   .ranks_per_node = 2,
                                   .reserved_memory = kReserved,
                                   .memory_capacity = kCapacity};
    const Timeline timeline(source, options);
    timeline.Write(writer);
    EXPECT_EQ(writer.slices(), timeline.CountSlices());
    arrows_ = writer.arrows();
    EXPECT_OK(writer.Finish());
    TraceAnswers answers = Ask(file_, sql);
    EXPECT_THAT(answers.problems, testing::IsEmpty());
    return answers;
  }
  TimelineOptions AllRanks() const {
    TimelineOptions options;
    for (const RankId rank : program_.ranks().ids()) {
      options.ranks.push_back(rank);
    }
    return options;
  }

  const Program program_ = BuildOrDie(PipelineProgram());
  const Transfers transfers_ = PipelineNetwork(program_);
  RecordingSink sink_;
  TransferLog log_;
  const IdVector<OpId, Op> ops_ = PipelineOps();
  RunResult result_;
  std::optional<SpanIndex> index_;
  std::vector<PathStep> path_;
  int64_t arrows_ = 0;
  const std::string file_ =
      testing::TempDir() + "/orrery_timeline_" +
      testing::UnitTest::GetInstance()->current_test_info()->name() +
      ".pftrace";
};

}  // namespace orrery
