#include "sim/analysis/critical_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "sim/analysis/step_breakdown.h"
#include "sim/analysis/time_shares.h"
#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "tests/sim/engine/programs_for_tests.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using namespace std::chrono_literals;

struct Recorded {
  Program program;
  RunResult result;
  std::vector<TaskSpan> spans;
  std::vector<PathStep> path;

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const PathStep& step : path) {
      names.push_back(fmt::format("{} on {}", program.name(step.span.name),
                                  static_cast<int>(step.span.rank)));
    }
    return names;
  }
};

Recorded Record(ProgramBuilder builder, Duration call) {
  Program program = BuildOrDie(std::move(builder));
  RecordingSink sink;
  RunResult result =
      Simulate(program, ClosedForm(program, call), {}, sink).value();
  std::vector<PathStep> path = CriticalPath(SpanIndex(program, sink.spans()));
  return {std::move(program), std::move(result), sink.spans(), std::move(path)};
}

std::vector<std::string> Lines(const std::vector<TimeShare>& shares) {
  std::vector<std::string> lines;
  for (const TimeShare& share : shares) {
    lines.push_back(fmt::format("{} {} ps", share.name, share.time.count()));
  }
  return lines;
}

// Rank 1 comes last to the sum (5 against 2), so the path starts there; after
// the sum rank 0 has more to do (4 against 1).
//   rank 0: before 2 | wait 3 | sum 10 | after 4
//   rank 1: before 5          | sum 10 | after 1
ProgramBuilder TwoRanks() {
  ProgramBuilder builder = TestBuilder();
  const GroupRef group = builder.AddGroup("tensor", 0);
  for (int32_t i = 0; i < 2; ++i) {
    RoleBuilder& role = builder.AddRole(i == 0 ? "early" : "late");
    const SlotRef slot = role.AddSlot("tensor", kTensorStream);
    const TaskRef before =
        role.AddKernel(kCompute, "before",
                       {.duration = i == 0 ? 2us : 5us,
                        .facts = {.launch = 500ns, .memory_bound = 1us}});
    const TaskRef sum = role.AddCollective(slot, "sum", AllReduce(100));
    const TaskRef after =
        role.AddKernel(kCompute, "after", {.duration = i == 0 ? 4us : 1us});
    role.SetMark(before, {.phase = WorkPhase::kForward});
    role.SetMark(after, {.phase = WorkPhase::kOptimizer});
    role.AddDependency(before, sum);
    role.AddDependency(sum, after);
    builder.Bind(builder.AddRank(i, role), slot, group);
  }
  return builder;
}

TEST(CriticalPath, GoesThroughTheRankThatCameLast) {
  const Recorded run = Record(TwoRanks(), 10us);
  EXPECT_THAT(run.Names(),
              ElementsAre("before on 1", "sum on 0", "after on 0"));
  EXPECT_EQ(PathLength(run.path), 19us);
  EXPECT_EQ(PathLength(run.path), run.result.end - Time{});
}

// Of the 5 us of "before" 0.5 are launch, 1 is memory, 3.5 are arithmetic.
TEST(CriticalPath, ItsPartsByCauseSumToIt) {
  const Recorded run = Record(TwoRanks(), 10us);
  EXPECT_THAT(Lines(PathByCause(run.program, run.path, {})),
              ElementsAre("communication: tensor 10000000 ps",
                          "optimizer 4000000 ps", "compute 3500000 ps",
                          "memory-bound 1000000 ps", "launch 500000 ps"));
  EXPECT_THAT(Lines(TopTasks(run.program, run.path, 2)),
              ElementsAre("sum 10000000 ps", "before forward 5000000 ps"));
}

TEST(CriticalPath, FollowsAStreamThatWasBusy) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensorStream);
  const TaskRef kernel = role.AddKernel(kCompute, "kernel", {.duration = 1us});
  role.AddCollective(slot, "first", AllReduce(1));
  role.AddDependency(kernel, role.AddCollective(slot, "second", AllReduce(1)));
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  // "second" waits for "first" in its stream, not for the kernel.
  const Recorded run = Record(std::move(builder), 10us);
  EXPECT_THAT(run.Names(), ElementsAre("first on 0", "second on 0"));
}

// A chip 1.5 times slower: 4 us of work take 6.
TEST(CriticalPath, ASlowRankIsACauseOfItsOwn) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  role.AddKernel(kCompute, "kernel", {.duration = 4us});
  builder.AddRank(0, role);
  builder.AddRank(1, role, /*multiplicity=*/1, /*slowness=*/1.5);
  const Recorded run = Record(std::move(builder), 1us);
  EXPECT_THAT(run.Names(), ElementsAre("kernel on 1"));
  EXPECT_THAT(Lines(PathByCause(run.program, run.path, {})),
              ElementsAre("compute 4000000 ps", "slow chip 2000000 ps"));
}

// The call holds half the chip for its 4 us, in which the kernel does 2 us of
// its work; the other 3 follow alone: 7 us, 2 of them because of the call.
TEST(CriticalPath, WhatCommunicationTakesFromAKernelIsACauseOfItsOwn) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensorStream);
  role.AddKernel(kCompute, "kernel", {.duration = 5us});
  Communication sum = AllReduce(1);
  sum.share.compute = 0.5;
  role.AddCollective(slot, "sum", sum);
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Recorded run = Record(std::move(builder), 4us);
  EXPECT_EQ(run.result.end, Time(7us));
  EXPECT_THAT(Lines(PathByCause(run.program, run.path, {})),
              ElementsAre("compute 5000000 ps",
                          "kernels slowed by communication 2000000 ps"));
}

// Two stages, a micro-batch forward and back. Calls take 1 us.
//   stage 0: forward 3 | send | wait 1 + 8 + 1          | backward 6
//   stage 1:     wait 3+1     | work 8 | send
// The path goes through all of it. Seen from stage 1, the 3 us before its
// work and the 6 after it are bubbles; seen from stage 0 the 8 in the middle.
// The channels concern both.
TEST(CriticalPath, WorkOfOtherStagesIsToldApartForARankThatWaitsForIt) {
  ProgramBuilder builder = TestBuilder();
  const GroupRef there = builder.AddGroup("forward", 0);
  const GroupRef back = builder.AddGroup("backward", 0);
  const Communication message = {.bytes = Bytes(1)};
  RoleBuilder& first = builder.AddRole("stage 0");
  const SlotRef out = first.AddSlot("forward", kPipeline);
  const SlotRef in = first.AddSlot("backward", kTensorStream);
  const TaskRef forward =
      first.AddKernel(kCompute, "forward", {.duration = 3us});
  first.AddDependency(forward, first.AddSend(out, "send", message));
  const TaskRef gradient = first.AddReceive(in, "receive", message);
  const TaskRef backward =
      first.AddKernel(kCompute, "backward", {.duration = 6us});
  first.AddDependency(gradient, backward);
  const RankRef zero = builder.AddRank(0, first);
  builder.Bind(zero, out, there);
  builder.Bind(zero, in, back);
  RoleBuilder& second = builder.AddRole("stage 1");
  const SlotRef from = second.AddSlot("forward", kPipeline);
  const SlotRef to = second.AddSlot("backward", kTensorStream);
  const TaskRef received = second.AddReceive(from, "receive", message);
  const TaskRef work = second.AddKernel(
      kCompute, "work", {.duration = 8us, .facts = {.memory_bound = 2us}});
  second.AddDependency(received, work);
  second.AddDependency(work, second.AddSend(to, "send", message));
  const RankRef one = builder.AddRank(1, second);
  builder.Bind(one, from, there);
  builder.Bind(one, to, back);

  const Recorded run = Record(std::move(builder), 1us);
  EXPECT_EQ(run.result.end, Time(19us));
  const auto seen_from = [&](RankId rank) {
    BreakdownSink sink(run.program, rank);
    for (const TaskSpan& span : run.spans) sink.Add(span);
    EXPECT_EQ(sink.Finish(run.result.end).total(), 19us);
    return Lines(PathByCause(run.program, run.path, {rank, sink.bubbles()}));
  };
  EXPECT_THAT(seen_from(RankId(1)),
              ElementsAre("work of other stages 9000000 ps",
                          "compute 6000000 ps", "memory-bound 2000000 ps",
                          "communication: pipeline 1000000 ps",
                          "communication: tensor 1000000 ps"));
  EXPECT_THAT(
      seen_from(RankId(0)),
      ElementsAre("compute 9000000 ps", "work of other stages 8000000 ps",
                  "communication: pipeline 1000000 ps",
                  "communication: tensor 1000000 ps"));
}

// Arithmetic is told by the kind of op.
TEST(CriticalPath, ComputeIsToldByKindOfOp) {
  IdVector<OpId, Op> ops;
  const OpId gemm = ops.Add({OpName::kMlpUp, Pass::kForward, Gemm{}});
  const OpId attention =
      ops.Add({OpName::kAttention, Pass::kForward, FusedAttention{}});
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  role.AddKernel(kCompute, "a", {.duration = 4us, .facts = {.op = gemm}});
  role.AddKernel(kCompute, "b", {.duration = 3us, .facts = {.op = attention}});
  role.AddKernel(kCompute, "c", {.duration = 1us});
  builder.AddRank(0, role);
  const Recorded run = Record(std::move(builder), 1us);
  EXPECT_THAT(
      Lines(PathByCause(run.program, run.path, {}, ops)),
      ElementsAre("compute: matrix products 4000000 ps",
                  "compute: attention 3000000 ps", "compute 1000000 ps"));
}

// The sum runs from 2 to 12; a kernel runs beside it from 2 to 5.
TEST(ExposedCommunication, IsWhatNoKernelHides) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensorStream);
  const TaskRef first = role.AddKernel(kCompute, "first", {.duration = 2us});
  const TaskRef sum = role.AddCollective(slot, "sum", AllReduce(1));
  role.AddKernel(kCompute, "beside", {.duration = 3us});
  const TaskRef last = role.AddKernel(kCompute, "last", {.duration = 1us});
  role.AddDependency(first, sum);
  role.AddDependency(sum, last);
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Recorded run = Record(std::move(builder), 10us);
  BreakdownSink breakdown(run.program, RankId(0));
  for (const TaskSpan& span : run.spans) breakdown.Add(span);
  EXPECT_EQ(breakdown.Finish(run.result.end).exposed[kTensorStream].time, 7us);
  const auto times = ExposedCommunication(
      run.program, SpanIndex(run.program, run.spans), RankId(0), breakdown);
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].stream, "tensor");
  EXPECT_EQ(times[0].kind, CommunicationKind::kAllReduce);
  EXPECT_EQ(times[0].total, 10us);
  EXPECT_EQ(times[0].exposed, 7us);
  EXPECT_EQ(times[0].hidden(), 3us);
}

// Random work on four ranks that meet again and again: whatever happens, the
// path has no gap and its parts sum to the end of the run.
TEST(CriticalPath, ItsLengthIsTheTimeOfTheRun) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed, "critical path test");
    ProgramBuilder builder = TestBuilder();
    const GroupRef all = builder.AddGroup("tensor", 0);
    for (int32_t i = 0; i < 4; ++i) {
      RoleBuilder& role = builder.AddRole(fmt::format("role {}", i));
      const SlotRef slot = role.AddSlot("tensor", kTensorStream);
      TaskRef last_sum{};
      for (int layer = 0; layer < 20; ++layer) {
        const TaskRef kernel =
            role.AddKernel(kCompute, "kernel",
                           {.duration = Duration(rng.Between(1, 5'000'000))});
        if (layer > 1) role.AddDependency(last_sum, kernel);
        Communication sum = AllReduce(layer);
        sum.share.compute = 0.3;
        last_sum = role.AddCollective(slot, "sum", sum);
        role.AddDependency(kernel, last_sum);
        role.AddKernel(kCompute, "beside",
                       {.duration = Duration(rng.Between(0, 3'000'000))});
      }
      builder.Bind(builder.AddRank(i, role, 1, 1 + 0.1 * i), slot, all);
    }
    const Recorded run = Record(std::move(builder), 1us);
    EXPECT_EQ(PathLength(run.path), run.result.end - Time{});
    for (const RankId rank : run.program.ranks().ids()) {
      BreakdownSink sink(run.program, rank);
      for (const TaskSpan& span : run.spans) sink.Add(span);
      sink.Finish(run.result.end);
      Duration sum{0};
      for (const TimeShare& share :
           PathByCause(run.program, run.path, {rank, sink.bubbles()})) {
        EXPECT_GT(share.time, Duration(0)) << share.name;
        sum += share.time;
      }
      EXPECT_EQ(sum, run.result.end - Time{});
      for (const ExposedTime& time : ExposedCommunication(
               run.program, SpanIndex(run.program, run.spans), rank, sink)) {
        EXPECT_GE(time.exposed, Duration(0));
        EXPECT_GE(time.hidden(), Duration(0));
      }
    }
  }
}

}  // namespace
}  // namespace orrery
