// What waits are charged to, and who congests whom.
#include "sim/analysis/wait_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/format.h"
#include "sim/analysis/congestion.h"
#include "sim/analysis/path_bound.h"
#include "sim/analysis/time_shares.h"
#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "tests/sim/engine/programs_for_tests.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using namespace std::chrono_literals;

// The second stage waits 9 us: for a kernel (5) and a sum (3) of the first,
// then for the transfer (1) to itself. After its own kernel (2) it waits for
// the first stage's last one, which is on the critical path.
//   rank 0: work 5 | sum 3 | send 1 | rest 10
//   rank 1:                | recv 1 | work 2
class WaitWork : public testing::Test {
 protected:
  WaitWork() : program_(Make()) {
    Transfers transfers;
    for (const Call& call : program_.calls()) {
      const bool sum = call.what.kind == CommunicationKind::kAllReduce;
      transfers.plan_of_call.Add(
          transfers.plans.AddChain({{.latency = sum ? 3us : 1us}}));
    }
    result_ = Simulate(program_, transfers, {}, sink_).value();
    index_.emplace(program_, sink_.spans());
    path_ = CriticalPath(*index_);
  }

  static Program Make() {
    ProgramBuilder builder = TestBuilder();
    const GroupRef there = builder.AddGroup("forward", 0);
    RoleBuilder& first = builder.AddRole("stage 0");
    const SlotRef tensor = first.AddSlot("tensor", kTensorStream);
    const SlotRef out = first.AddSlot("forward", kPipeline);
    const TaskRef work = first.AddKernel(kCompute, "work", {.duration = 5us});
    const TaskRef sum = first.AddCollective(tensor, "sum", AllReduce(1));
    first.AddDependency(work, sum);
    const TaskRef send = first.AddSend(out, "send", {.bytes = Bytes(1)});
    first.AddDependency(sum, send);
    const TaskRef rest = first.AddKernel(kCompute, "rest", {.duration = 10us});
    first.AddDependency(send, rest);
    const RankRef zero = builder.AddRank(0, first);
    builder.Bind(zero, tensor, builder.AddGroup("tensor", 0));
    builder.Bind(zero, out, there);
    RoleBuilder& second = builder.AddRole("stage 1");
    const SlotRef in = second.AddSlot("forward", kPipeline);
    const TaskRef received =
        second.AddReceive(in, "receive", {.bytes = Bytes(1)});
    second.AddDependency(received,
                         second.AddKernel(kCompute, "work", {.duration = 2us}));
    builder.Bind(builder.AddRank(1, second), in, there);
    return BuildOrDie(std::move(builder));
  }

  std::vector<std::string> WaitsOf(RankId rank) const {
    BreakdownSink sink(program_, rank);
    for (const TaskSpan& span : sink_.spans()) sink.Add(span);
    const StepBreakdown parts = sink.Finish(result_.end);
    Duration waits{};
    for (const RankWait& wait : sink.waits()) waits += wait.time();
    EXPECT_EQ(waits, parts.total() - parts.kernels.total());
    std::vector<std::string> lines;
    for (const WaitedWork& part : FollowToWork(*index_, path_, sink.waits())) {
      lines.push_back(fmt::format(
          "{} {} us: {}", NameOf(part.wait->kind), part.time() / 1us,
          part.work == nullptr ? "nothing" : program_.name(part.work->name)));
    }
    return lines;
  }

  const Program program_;
  RecordingSink sink_;
  RunResult result_;
  std::optional<SpanIndex> index_;
  std::vector<PathStep> path_;
};

TEST_F(WaitWork, EveryMomentIsChargedToTheTaskAtWork) {
  EXPECT_EQ(result_.end, Time(19us));
  EXPECT_THAT(WaitsOf(RankId(1)),
              ElementsAre("bubble 5 us: work", "bubble 3 us: sum",
                          "exposed 1 us: receive", "bubble 8 us: rest"));
  EXPECT_THAT(WaitsOf(RankId(0)),
              ElementsAre("exposed 3 us: sum", "exposed 1 us: send"));
}

// On the path a call is what it is, whoever runs it; the other stage's kernels
// are work of other stages to the one that looks.
TEST_F(WaitWork, CommunicationIsNoWorkOfOtherStages) {
  BreakdownSink sink(program_, RankId(1));
  for (const TaskSpan& span : sink_.spans()) sink.Add(span);
  sink.Finish(result_.end);
  std::vector<std::string> lines;
  for (const TimeShare& share :
       PathByCause(program_, path_, {RankId(1), sink.bubbles()})) {
    lines.push_back(fmt::format("{} {} us", share.name, share.time / 1us));
  }
  // 5 us before the message, 8 of the last 10 after the second stage's kernel.
  EXPECT_THAT(lines, ElementsAre("work of other stages 13 us",
                                 "communication: tensor 3 us", "compute 2 us",
                                 "communication: pipeline 1 us"));
}

// Two calls of 1000 bytes share a link of 1 GB/s: 2 us instead of 1 each.
TEST(Congestion, IsWhatACallTakesLongerThanAlone) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensorStream);
  role.AddCollective(slot, "sum", AllReduce(1000));
  for (int32_t i = 0; i < 2; ++i) {
    builder.Bind(builder.AddRank(i, role), slot, builder.AddGroup("tensor", i));
  }
  const Program program = BuildOrDie(std::move(builder));
  Transfers transfers;
  const ResourceId link = transfers.capacities.Add(1e9);
  transfers.plan_of_call.resize(
      program.calls().size(),
      transfers.plans.AddChain({{.work = 1000, .uses = {{link, 1.0}}}}));
  RecordingSink sink;
  TransferLog log;
  const RunResult result =
      Simulate(program, transfers, {.log = &log}, sink).value();
  EXPECT_EQ(result.end, Time(2us));
  CallTimes alone;
  for (const PlanId plan : transfers.plan_of_call) {
    alone.Add(ShortestTime(transfers, plan));
    EXPECT_EQ(alone[CallId(static_cast<int32_t>(alone.size()) - 1)], 1us);
  }
  const std::vector<PathStep> path =
      CriticalPath(SpanIndex(program, sink.spans()));
  std::vector<std::string> lines;
  for (const TimeShare& share :
       PathByCause(program, path, {.rank = RankId(0), .alone = &alone})) {
    lines.push_back(fmt::format("{} {} us", share.name, share.time / 1us));
  }
  EXPECT_THAT(lines, ElementsAre("communication: tensor 1 us",
                                 "congestion: tensor 1 us"));
  BreakdownSink breakdown(program, RankId(0), &alone);
  for (const TaskSpan& span : sink.spans()) breakdown.Add(span);
  const StepBreakdown parts = breakdown.Finish(result.end);
  EXPECT_EQ(parts.exposed[kTensorStream].time, 2us);
  EXPECT_EQ(parts.exposed[kTensorStream].congestion, 1us);
  const std::vector<CongestedCall> calls =
      CongestedCalls(program, transfers, log, path, alone);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].link, link);
  EXPECT_DOUBLE_EQ(calls[0].load, 1);
  ASSERT_EQ(calls[0].others.size(), 1u);
  EXPECT_EQ(calls[0].others[0].group, GroupId(1));
  EXPECT_DOUBLE_EQ(calls[0].others[0].load, 0.5);
}

}  // namespace
}  // namespace orrery
