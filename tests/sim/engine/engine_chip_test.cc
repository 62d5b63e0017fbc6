// What tasks take of their chip: shares of compute and bandwidth, and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/engine/span_sinks.h"
#include "tests/sim/engine/event_queues.h"
#include "tests/sim/engine/replay.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using absl::StatusCode;
using testing::HasSubstr;
using namespace std::chrono_literals;

template <class Queue>
class EngineChip : public testing::Test {};
TYPED_TEST_SUITE(EngineChip, EventQueues, EventQueueNames);

// A kernel of 10 that needs all compute units; from 2 on an all-reduce of 4
// holds a fifth of them: 2 at full speed, 4 at 0.8 = 3.2, the remaining 4.8
// alone.
//   2 + 4 + 4.8 = 10.8
TYPED_TEST(EngineChip, CommunicationTakesItsShareOfTheChip) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensorStream);
  role.AddKernel(kCompute, "gemm",
                 {.duration = 10us, .demand = {.compute = 1, .memory = 0.3}});
  role.AddKernel(kTensorStream, "delay", {.duration = 2us, .demand = {0, 0}});
  role.AddCollective(slot, "sum",
                     {.bytes = Bytes(1), .share = {.compute = 0.2}});
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf<TypeParam>(program, ClosedForm(program, 4us));
  EXPECT_EQ(run.of(0, kCompute, 0).ended, At(10'800ns));
  EXPECT_EQ(run.of(0, kTensorStream, 1).ended, At(6us));
  EXPECT_EQ(run.result.kernel_rate_changes, 2);
}

// What it leaves is enough: 0.5 of the memory needed, 0.6 free.
TYPED_TEST(EngineChip, AKernelThatNeedsLittleIsNotSlowed) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensorStream);
  role.AddKernel(kCompute, "norm",
                 {.duration = 10us, .demand = {.compute = 0.1, .memory = 0.5}});
  role.AddCollective(
      slot, "sum",
      {.bytes = Bytes(1), .share = {.compute = 0.2, .memory = 0.4}});
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf<TypeParam>(program, ClosedForm(program, 4us));
  EXPECT_EQ(run.of(0, kCompute, 0).ended, At(10us));
}

// Of 10, 6 are launch and need nothing of the chip: an all-reduce that holds a
// fifth of it all the time stretches the other 4 alone.
//   6 + 4 / 0.8 = 11
TYPED_TEST(EngineChip, ALaunchIsNotStretched) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensorStream);
  role.AddKernel(kCompute, "norm",
                 {.duration = 10us, .facts = {.launch = 6us}});
  role.AddKernel(kCompute, "nothing but launch",
                 {.duration = 3us, .facts = {.launch = 3us}});
  role.AddCollective(slot, "sum",
                     {.bytes = Bytes(1), .share = {.compute = 0.2}});
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf<TypeParam>(program, ClosedForm(program, 20us));
  EXPECT_EQ(run.of(0, kCompute, 0).ended, At(11us));
  EXPECT_EQ(run.of(0, kCompute, 1).ended, At(14us));
}

// Rank 0 comes to the all-reduce at once, rank 1 at 4; it takes 2. The kernel
// of an all-reduce that waits spins on its fifth of the compute units, but
// moves nothing: rank 0's product of 10 runs at 0.8 for 6, the rest alone, and
// its copy, which needs memory, is held up by the transfer alone.
//   6 + (10 - 6 x 0.8) = 11.2
TYPED_TEST(EngineChip, ACollectiveThatWaitsHoldsItsComputeUnits) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& early = builder.AddRole("early");
  RoleBuilder& late = builder.AddRole("late");
  const GroupRef group = builder.AddGroup("tensor", 0);
  const Communication what{.bytes = Bytes(1),
                           .share = {.compute = 0.2, .memory = 0.5}};
  const SlotRef a = early.AddSlot("tensor", kTensorStream);
  early.AddKernel(kCompute, "gemm", {.duration = 10us});
  early.AddCollective(a, "sum", what);
  const SlotRef b = late.AddSlot("tensor", kTensorStream);
  late.AddKernel(kTensorStream, "delay", {.duration = 4us, .demand = {0, 0}});
  late.AddCollective(b, "sum", what);
  builder.Bind(builder.AddRank(0, early), a, group);
  builder.Bind(builder.AddRank(1, late), b, group);
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf<TypeParam>(program, ClosedForm(program, 2us));
  EXPECT_EQ(run.of(0, kTensorStream, 0).ended, At(6us));
  EXPECT_EQ(run.of(0, kCompute, 0).ended, At(11'200ns));
}

// A kernel that needs memory only is not slowed by one that waits: of its 6,
// 4 are done until then, 1 at half speed beside the transfer of 2, 1 alone.
//   4 + 2 + 1 = 7
TYPED_TEST(EngineChip, ACollectiveThatWaitsMovesNothing) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& early = builder.AddRole("early");
  RoleBuilder& late = builder.AddRole("late");
  const GroupRef group = builder.AddGroup("tensor", 0);
  const Communication what{.bytes = Bytes(1),
                           .share = {.compute = 0.2, .memory = 0.5}};
  const SlotRef a = early.AddSlot("tensor", kTensorStream);
  early.AddKernel(kCompute, "copy",
                  {.duration = 6us, .demand = {.compute = 0, .memory = 1}});
  early.AddCollective(a, "sum", what);
  const SlotRef b = late.AddSlot("tensor", kTensorStream);
  late.AddKernel(kTensorStream, "delay", {.duration = 4us, .demand = {0, 0}});
  late.AddCollective(b, "sum", what);
  builder.Bind(builder.AddRank(0, early), a, group);
  builder.Bind(builder.AddRank(1, late), b, group);
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf<TypeParam>(program, ClosedForm(program, 2us));
  EXPECT_EQ(run.of(0, kCompute, 0).ended, At(7us));
}

// Two kernels that each need the whole chip: half speed until the short one has
// done its 2 (at 4), then the other's remaining 4 alone: 8.
TYPED_TEST(EngineChip, TwoKernelsShareTheChip) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  role.AddKernel(kCompute, "long", {.duration = 6us});
  role.AddKernel(kTensorStream, "short", {.duration = 2us});
  builder.AddRank(0, role);
  const Replay run = ReplayOf<TypeParam>(BuildOrDie(std::move(builder)), {});
  EXPECT_EQ(run.of(0, kTensorStream, 0).ended, At(4us));
  EXPECT_EQ(run.of(0, kCompute, 0).ended, At(8us));
}

// Communication that holds everything stops a kernel, and lets it go on.
TYPED_TEST(EngineChip, AKernelWithoutAnyShareWaits) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensorStream);
  role.AddKernel(kCompute, "gemm", {.duration = 3us});
  role.AddCollective(slot, "sum", {.bytes = Bytes(1), .share = {1, 1}});
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf<TypeParam>(program, ClosedForm(program, 4us));
  EXPECT_EQ(run.of(0, kCompute, 0).ended, At(7us));
}

// 10 of weights; 5 at the start of a, 7 more at the start of b, 12 back at its
// end: the peak of 22 is at 2, when b starts.
TYPED_TEST(EngineChip, TracksMemoryPeakInstantAndKinds) {
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
  const Replay run = ReplayOf<TypeParam>(BuildOrDie(std::move(builder)), {});
  const MemoryPeak& peak = run.result.ranks[RankId(0)].memory;
  EXPECT_EQ(peak.total, Bytes(22));
  EXPECT_EQ(peak.at, At(2us));
  EXPECT_EQ(peak.by_kind[static_cast<size_t>(MemoryKind::kActivations)],
            Bytes(12));
}

// Freed and taken at the same instant: never both.
TYPED_TEST(EngineChip, WhatEndsGivesBackBeforeWhatStartsTakes) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const TaskRef a = role.AddKernel(kCompute, "a", {.duration = 2us});
  const TaskRef b = role.AddKernel(kCompute, "b", {.duration = 1us});
  role.Allocate(a, MemoryEffect::When::kStart, MemoryKind::kBuffers, Bytes(9));
  role.Release(a, MemoryEffect::When::kEnd, MemoryKind::kBuffers, Bytes(9));
  role.Allocate(b, MemoryEffect::When::kStart, MemoryKind::kBuffers, Bytes(9));
  builder.AddRank(0, role);
  const Replay run = ReplayOf<TypeParam>(BuildOrDie(std::move(builder)), {});
  EXPECT_EQ(run.result.ranks[RankId(0)].memory.total, Bytes(9));
}

TYPED_TEST(EngineChip, RefusesMemoryReleasedBeforeItIsHeld) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const TaskRef a = role.AddKernel(kCompute, "a", {.duration = 2us});
  role.Release(a, MemoryEffect::When::kStart, MemoryKind::kBuffers, Bytes(9));
  role.Allocate(a, MemoryEffect::When::kEnd, MemoryKind::kBuffers, Bytes(9));
  builder.AddRank(6, role);
  NullSink sink;
  EXPECT_THAT(Simulate<TypeParam>(BuildOrDie(std::move(builder)), {}, {}, sink),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("rank 6")));
}

}  // namespace
}  // namespace orrery
