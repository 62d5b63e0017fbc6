#include "sim/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/span_sinks.h"
#include "tests/sim/programs_for_tests.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;
using namespace std::chrono_literals;

// The spans of a run that must succeed.
struct Replay {
  RunResult result;
  std::vector<TaskSpan> spans;

  const TaskSpan& of(int32_t rank, StreamId stream, int32_t position) const {
    int32_t seen = 0;
    for (const TaskSpan& span : spans) {
      if (span.rank == RankId(rank) && span.stream == stream &&
          seen++ == position) {
        return span;
      }
    }
    CHECK(false) << "no such span";
    return spans.front();
  }
};

Replay ReplayOf(const Program& program, const Transfers& transfers) {
  RecordingSink sink;
  absl::StatusOr<RunResult> result = Simulate(program, transfers, {}, sink);
  CHECK(result.ok()) << result.status().ToString();
  return {*std::move(result), sink.spans()};
}

Time At(Duration since_start) { return Time(since_start); }

TEST(Engine, AStreamRunsItsKernelsInTurn) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  role.AddKernel(kCompute, "a", {.duration = 3us});
  role.AddKernel(kCompute, "b", {.duration = 4us});
  builder.AddRank(0, role);
  const Replay run = ReplayOf(BuildOrDie(std::move(builder)), {});
  EXPECT_EQ(run.result.end, At(7us));
  EXPECT_EQ(run.of(0, kCompute, 1).started, At(3us));
  EXPECT_EQ(run.of(0, kCompute, 1).release.by, Release::By::kStream);
  EXPECT_EQ(run.of(0, kCompute, 0).release.by, Release::By::kBeginning);
  EXPECT_EQ(run.result.events, 2);
}

TEST(Engine, ASlowRankTakesLongerForTheSameKernel) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  role.AddKernel(kCompute, "a", {.duration = 4us});
  builder.AddRank(0, role);
  builder.AddRank(1, role, /*multiplicity=*/1, /*slowness=*/1.25);
  const Replay run = ReplayOf(BuildOrDie(std::move(builder)), {});
  EXPECT_EQ(run.result.ranks[RankId(0)].finished, At(4us));
  EXPECT_EQ(run.result.ranks[RankId(1)].finished, At(5us));
}

// Rank 0 arrives at 2, rank 1 at 5; the call takes 10 from then on.
TEST(Engine, ACollectiveStartsWhenTheLastMemberArrives) {
  ProgramBuilder builder = TestBuilder();
  const GroupRef group = builder.AddGroup("tensor", 0);
  for (int32_t i = 0; i < 2; ++i) {
    RoleBuilder& role = builder.AddRole(i == 0 ? "early" : "late");
    const SlotRef slot = role.AddSlot("tensor", kTensor);
    const TaskRef before =
        role.AddKernel(kCompute, "before", {.duration = i == 0 ? 2us : 5us});
    const TaskRef sum = role.AddCollective(slot, "sum", AllReduce(100));
    const TaskRef after = role.AddKernel(kCompute, "after", {.duration = 1us});
    role.AddDependency(before, sum);
    role.AddDependency(sum, after);
    builder.Bind(builder.AddRank(i, role), slot, group);
  }
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf(program, ClosedForm(program, 10us));
  EXPECT_EQ(run.result.end, At(16us));
  const TaskSpan& early = run.of(0, kTensor, 0);
  EXPECT_EQ(early.headed, At(0us));
  EXPECT_EQ(early.ready, At(2us));
  EXPECT_EQ(early.started, At(5us));
  EXPECT_EQ(early.ended, At(15us));
  EXPECT_EQ(early.release, (Release{Release::By::kPartner, 1}));
  const TaskSpan& late = run.of(1, kTensor, 0);
  EXPECT_EQ(late.waiting_for_partners(), 0us);
  EXPECT_EQ(late.release, (Release{Release::By::kDependency,
                                   static_cast<int32_t>(kCompute)}));
  const TaskSpan& after = run.of(0, kCompute, 1);
  EXPECT_EQ(after.waiting_for_dependencies(), 13us);
  EXPECT_EQ(after.release,
            (Release{Release::By::kDependency, static_cast<int32_t>(kTensor)}));
}

// The second collective is ready at 1 but its stream is busy until 10.
TEST(Engine, QueuedTimeIsFoundFromTheSpans) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensor);
  const TaskRef kernel = role.AddKernel(kCompute, "k", {.duration = 1us});
  role.AddCollective(slot, "first", AllReduce(1));
  const TaskRef second = role.AddCollective(slot, "second", AllReduce(1));
  role.AddDependency(kernel, second);
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf(program, ClosedForm(program, 10us));
  const std::vector<Time> eligible = EligibleTimes(program, run.spans);
  for (size_t i = 0; i < run.spans.size(); ++i) {
    if (program.name(run.spans[i].name) != "second") continue;
    EXPECT_EQ(eligible[i], At(1us));
    EXPECT_EQ(run.spans[i].headed, At(10us));
  }
}

TEST(Engine, ASendMeetsItsReceive) {
  ProgramBuilder builder = TestBuilder();
  const GroupRef channel = builder.AddGroup("channel", 0);
  RoleBuilder& sender = builder.AddRole("sender");
  const SlotRef out = sender.AddSlot("out", kPipeline);
  const TaskRef work = sender.AddKernel(kCompute, "work", {.duration = 3us});
  sender.AddDependency(work, sender.AddSend(out, "send", {.bytes = Bytes(8)}));
  RoleBuilder& receiver = builder.AddRole("receiver");
  const SlotRef in = receiver.AddSlot("in", kPipeline);
  const TaskRef got = receiver.AddReceive(in, "receive", {.bytes = Bytes(8)});
  receiver.AddDependency(
      got, receiver.AddKernel(kCompute, "use", {.duration = 2us}));
  builder.Bind(builder.AddRank(0, sender), out, channel);
  builder.Bind(builder.AddRank(1, receiver), in, channel);
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf(program, ClosedForm(program, 4us));
  EXPECT_EQ(run.result.end, At(9us));
  EXPECT_EQ(run.of(1, kPipeline, 0).started, At(3us));
  EXPECT_EQ(run.of(1, kPipeline, 0).kind, SpanKind::kReceive);
}

TEST(Engine, MarkersTakeNoTime) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const TaskRef begin = role.AddMarker(kTensor, "begin");
  const TaskRef kernel = role.AddKernel(kCompute, "k", {.duration = 5us});
  const TaskRef end = role.AddMarker(kTensor, "end");
  role.AddDependency(begin, kernel);
  role.AddDependency(kernel, end);
  builder.AddRank(0, role);
  const Replay run = ReplayOf(BuildOrDie(std::move(builder)), {});
  EXPECT_EQ(run.result.end, At(5us));
  EXPECT_EQ(run.of(0, kTensor, 1).started, At(5us));
  EXPECT_EQ(run.result.events, 1);
}

// --- Overlap on the chip ---

// A kernel of 10 that needs all compute units; from 2 on an all-reduce of 4
// holds a fifth of them: 2 at full speed, 4 at 0.8 = 3.2, the remaining 4.8
// alone.
//   2 + 4 + 4.8 = 10.8
TEST(Engine, CommunicationTakesItsShareOfTheChip) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensor);
  role.AddKernel(kCompute, "gemm",
                 {.duration = 10us, .demand = {.compute = 1, .memory = 0.3}});
  role.AddKernel(kTensor, "delay", {.duration = 2us, .demand = {0, 0}});
  role.AddCollective(slot, "sum",
                     {.bytes = Bytes(1), .share = {.compute = 0.2}});
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf(program, ClosedForm(program, 4us));
  EXPECT_EQ(run.of(0, kCompute, 0).ended, At(10'800ns));
  EXPECT_EQ(run.of(0, kTensor, 1).ended, At(6us));
  EXPECT_EQ(run.result.kernel_rate_changes, 2);
}

// What it leaves is enough: 0.5 of the memory needed, 0.6 free.
TEST(Engine, AKernelThatNeedsLittleIsNotSlowed) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensor);
  role.AddKernel(kCompute, "norm",
                 {.duration = 10us, .demand = {.compute = 0.1, .memory = 0.5}});
  role.AddCollective(
      slot, "sum",
      {.bytes = Bytes(1), .share = {.compute = 0.2, .memory = 0.4}});
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf(program, ClosedForm(program, 4us));
  EXPECT_EQ(run.of(0, kCompute, 0).ended, At(10us));
}

// Two kernels that each need the whole chip: half speed until the short one has
// done its 2 (at 4), then the other's remaining 4 alone: 8.
TEST(Engine, TwoKernelsShareTheChip) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  role.AddKernel(kCompute, "long", {.duration = 6us});
  role.AddKernel(kTensor, "short", {.duration = 2us});
  builder.AddRank(0, role);
  const Replay run = ReplayOf(BuildOrDie(std::move(builder)), {});
  EXPECT_EQ(run.of(0, kTensor, 0).ended, At(4us));
  EXPECT_EQ(run.of(0, kCompute, 0).ended, At(8us));
}

// Communication that holds everything stops a kernel, and lets it go on.
TEST(Engine, AKernelWithoutAnyShareWaits) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensor);
  role.AddKernel(kCompute, "gemm", {.duration = 3us});
  role.AddCollective(slot, "sum", {.bytes = Bytes(1), .share = {1, 1}});
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf(program, ClosedForm(program, 4us));
  EXPECT_EQ(run.of(0, kCompute, 0).ended, At(7us));
}

// --- Transfers ---

// Two transfers of 100 and 200 units over one link of 100 per microsecond:
//   short: 100 at 50                  = 2 us
//   long : 100 at 50, then 100 at 100 = 3 us
TEST(Engine, TheLongerTransferSpeedsUpWhenTheShorterEnds) {
  ProgramBuilder builder = TestBuilder();
  for (int32_t i = 0; i < 2; ++i) {
    RoleBuilder& role = builder.AddRole(i == 0 ? "short" : "long");
    const SlotRef slot = role.AddSlot("tensor", kTensor);
    role.AddCollective(slot, "sum", AllReduce(i == 0 ? 100 : 200));
    builder.Bind(builder.AddRank(i, role), slot, builder.AddGroup("tensor", i));
  }
  const Program program = BuildOrDie(std::move(builder));
  Transfers transfers;
  const ResourceId link = transfers.capacities.Add(100e6);
  for (const Call& call : program.calls()) {
    transfers.plan_of_call.Add(transfers.plans.AddChain(
        {{.work = static_cast<double>(call.what.bytes.value()),
          .uses = {{link, 1.0}}}}));
  }
  const Replay run = ReplayOf(program, transfers);
  EXPECT_EQ(run.of(0, kTensor, 0).ended, At(2us));
  EXPECT_EQ(run.of(1, kTensor, 0).ended, At(3us));
  EXPECT_DOUBLE_EQ(run.result.carried[link], 300);
}

// A chain of two phases: 1 + 100 / 100 and 2 + 50 / 25 (capped): 2 + 4.
TEST(Engine, PhasesFollowEachOther) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensor);
  role.AddCollective(slot, "sum", AllReduce(100));
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Program program = BuildOrDie(std::move(builder));
  Transfers transfers;
  const ResourceId link = transfers.capacities.Add(100e6);
  transfers.plan_of_call.Add(transfers.plans.AddChain(
      {{.latency = 1us, .work = 100, .uses = {{link, 1.0}}},
       {.latency = 2us, .work = 50, .rate_cap = 25e6, .uses = {{link, 1.0}}}}));
  EXPECT_EQ(ReplayOf(program, transfers).result.end, At(6us));
}

// A diamond: 1, then 2 and 5 side by side, then 1.
TEST(Engine, AGraphOfStepsEndsWithItsLast) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensor);
  for (int i = 0; i < 2; ++i) role.AddCollective(slot, "sum", AllReduce(100));
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Program program = BuildOrDie(std::move(builder));
  Transfers transfers;
  transfers.plan_of_call.Add(transfers.plans.AddGraph(
      {{.latency = 1us}, {.latency = 2us}, {.latency = 5us}, {.latency = 1us}},
      {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  const Replay run = ReplayOf(program, transfers);
  EXPECT_EQ(run.result.end, At(14us));
  EXPECT_EQ(run.result.transfer_steps, 8);
}

TEST(Engine, ACallThatTakesNoTimeEndsAtOnce) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensor);
  for (int i = 0; i < 3; ++i) role.AddCollective(slot, "sum", AllReduce(0));
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf(program, ClosedForm(program, 0us));
  EXPECT_EQ(run.result.end, At(0us));
  EXPECT_EQ(run.spans.size(), 3u);
}

// --- Memory ---

// 10 of weights; 5 at the start of a, 7 more at the start of b, 12 back at its
// end: the peak of 22 is at 2, when b starts.
TEST(Engine, TracksMemoryPeakInstantAndKinds) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  role.SetInitialMemory(MemoryKind::kWeights, Bytes(10));
  const TaskRef a = role.AddKernel(kCompute, "a", {.duration = 2us});
  const TaskRef b = role.AddKernel(kCompute, "b", {.duration = 1us});
  role.Allocate(a, MemoryEffect::When::kStart, MemoryKind::kActivations,
                Bytes(5));
  role.Allocate(b, MemoryEffect::When::kStart, MemoryKind::kActivations,
                Bytes(7));
  role.Release(b, MemoryEffect::When::kEnd, MemoryKind::kActivations,
               Bytes(12));
  builder.AddRank(0, role);
  const Replay run = ReplayOf(BuildOrDie(std::move(builder)), {});
  const MemoryPeak& peak = run.result.ranks[RankId(0)].memory;
  EXPECT_EQ(peak.total, Bytes(22));
  EXPECT_EQ(peak.at, At(2us));
  EXPECT_EQ(peak.by_kind[static_cast<size_t>(MemoryKind::kActivations)],
            Bytes(12));
}

// Freed and taken at the same instant: never both.
TEST(Engine, WhatEndsGivesBackBeforeWhatStartsTakes) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const TaskRef a = role.AddKernel(kCompute, "a", {.duration = 2us});
  const TaskRef b = role.AddKernel(kCompute, "b", {.duration = 1us});
  role.Allocate(a, MemoryEffect::When::kStart, MemoryKind::kBuffers, Bytes(9));
  role.Release(a, MemoryEffect::When::kEnd, MemoryKind::kBuffers, Bytes(9));
  role.Allocate(b, MemoryEffect::When::kStart, MemoryKind::kBuffers, Bytes(9));
  builder.AddRank(0, role);
  const Replay run = ReplayOf(BuildOrDie(std::move(builder)), {});
  EXPECT_EQ(run.result.ranks[RankId(0)].memory.total, Bytes(9));
}

TEST(Engine, RefusesMemoryReleasedBeforeItIsHeld) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const TaskRef a = role.AddKernel(kCompute, "a", {.duration = 2us});
  role.Release(a, MemoryEffect::When::kStart, MemoryKind::kBuffers, Bytes(9));
  role.Allocate(a, MemoryEffect::When::kEnd, MemoryKind::kBuffers, Bytes(9));
  builder.AddRank(6, role);
  NullSink sink;
  EXPECT_THAT(Simulate(BuildOrDie(std::move(builder)), {}, {}, sink),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("rank 6")));
}

// --- Stalls and limits ---

// Two ranks call two groups in opposite orders on one stream.
TEST(Engine, ExplainsADeadlockBetweenRanks) {
  ProgramBuilder builder = TestBuilder();
  const GroupRef x = builder.AddGroup("x", 0);
  const GroupRef y = builder.AddGroup("y", 0);
  for (int32_t i = 0; i < 2; ++i) {
    RoleBuilder& role = builder.AddRole(i == 0 ? "left" : "right");
    const SlotRef slot_x = role.AddSlot("x", kTensor);
    const SlotRef slot_y = role.AddSlot("y", kTensor);
    role.AddCollective(i == 0 ? slot_x : slot_y, "first", AllReduce(1));
    role.AddCollective(i == 0 ? slot_y : slot_x, "second", AllReduce(1));
    const RankRef rank = builder.AddRank(i, role);
    builder.Bind(rank, slot_x, x);
    builder.Bind(rank, slot_y, y);
  }
  const Program program = BuildOrDie(std::move(builder));
  NullSink sink;
  EXPECT_THAT(
      Simulate(program, ClosedForm(program, 1us), {}, sink),
      StatusIs(StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("stalls with 4 tasks left"),
                     HasSubstr("rank 0 tensor: 'first' (task 0) waits in group "
                               "x[0] for rank 1"),
                     HasSubstr("rank 1 tensor: 'first' (task 0) waits in group "
                               "y[0] for rank 0"),
                     HasSubstr("closes the cycle"))));
}

// Rank 1 waits in its compute stream for a collective that rank 0 makes only
// after receiving what rank 1 sends later.
TEST(Engine, ExplainsADeadlockThroughDependencies) {
  ProgramBuilder builder = TestBuilder();
  const GroupRef group = builder.AddGroup("tensor", 0);
  const GroupRef channel = builder.AddGroup("channel", 0);
  RoleBuilder& left = builder.AddRole("left");
  const SlotRef left_tensor = left.AddSlot("tensor", kTensor);
  const SlotRef in = left.AddSlot("in", kPipeline);
  const TaskRef got = left.AddReceive(in, "receive", {.bytes = Bytes(1)});
  left.AddDependency(got, left.AddCollective(left_tensor, "sum", AllReduce(1)));
  RoleBuilder& right = builder.AddRole("right");
  const SlotRef right_tensor = right.AddSlot("tensor", kTensor);
  const SlotRef out = right.AddSlot("out", kPipeline);
  const TaskRef sum = right.AddCollective(right_tensor, "sum", AllReduce(1));
  right.AddDependency(sum, right.AddSend(out, "send", {.bytes = Bytes(1)}));
  const RankRef rank0 = builder.AddRank(0, left);
  const RankRef rank1 = builder.AddRank(1, right);
  builder.Bind(rank0, left_tensor, group);
  builder.Bind(rank1, right_tensor, group);
  builder.Bind(rank0, in, channel);
  builder.Bind(rank1, out, channel);
  const Program program = BuildOrDie(std::move(builder));
  NullSink sink;
  EXPECT_THAT(
      Simulate(program, ClosedForm(program, 1us), {}, sink),
      StatusIs(StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("rank 0 tensor: 'sum' (task 0) waits for "
                               "'receive' (task 1)"),
                     HasSubstr("rank 0 pipeline: 'receive' (task 1) waits in "
                               "group channel[0] for rank 1"),
                     HasSubstr("rank 1 pipeline: 'send' (task 1) waits for "
                               "'sum' (task 0)"),
                     HasSubstr("rank 1 tensor: 'sum' (task 0) waits in group "
                               "tensor[0] for rank 0"))));
}

TEST(Engine, RefusesTimeBeyondItsRange) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  for (int i = 0; i < 3; ++i) {
    role.AddKernel(kCompute, "century", {.duration = Duration::max() / 2});
  }
  builder.AddRank(0, role);
  NullSink sink;
  EXPECT_THAT(Simulate(BuildOrDie(std::move(builder)), {}, {}, sink),
              StatusIs(StatusCode::kOutOfRange,
                       AllOf(HasSubstr("rank 0 compute: 'century' (task 2)"),
                             HasSubstr("106 days"))));
}

TEST(Engine, RefusesARunThatDoesNotFit) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  role.AddKernel(kCompute, "k", {.duration = 1us});
  for (int32_t rank = 0; rank < 1000; ++rank) builder.AddRank(rank, role);
  const Program program = BuildOrDie(std::move(builder));
  NullSink sink;
  EXPECT_THAT(Simulate(program, {}, {.max_state = Bytes(1000)}, sink),
              StatusIs(StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("1000 ranks"), HasSubstr("1000 B"))));
  RecordingSink recording(Bytes(1000));
  EXPECT_THAT(Simulate(program, {}, {}, recording),
              StatusIs(StatusCode::kResourceExhausted,
                       HasSubstr("to record 1000 tasks")));
}

TEST(Engine, RefusesCallsWithoutPlans) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensor);
  role.AddCollective(slot, "sum", AllReduce(100));
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  NullSink sink;
  EXPECT_THAT(Simulate(BuildOrDie(std::move(builder)), {}, {}, sink),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("1 distinct calls but 0 have a plan")));
}

TEST(Engine, TotalsAddUp) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const TaskRef a = role.AddKernel(kCompute, "a", {.duration = 3us});
  const TaskRef b = role.AddKernel(kTensor, "b", {.duration = 2us});
  role.AddDependency(a, b);
  for (int32_t rank = 0; rank < 4; ++rank) builder.AddRank(rank, role);
  TotalsSink totals;
  ASSERT_OK(Simulate(BuildOrDie(std::move(builder)), {}, {}, totals));
  EXPECT_EQ(totals.of(kCompute).running, 12us);
  EXPECT_EQ(totals.of(kTensor).waiting_for_dependencies, 12us);
  EXPECT_EQ(totals.of(RankId(3), kTensor).running, 2us);
  EXPECT_EQ(totals.of(SpanKind::kKernel), 20us);
}

}  // namespace
}  // namespace orrery
