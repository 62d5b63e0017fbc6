#include "sim/engine/engine.h"

#include <gtest/gtest.h>

#include "sim/engine/span_sinks.h"
#include "tests/sim/engine/event_queues.h"
#include "tests/sim/engine/replay.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using namespace std::chrono_literals;

template <class Queue>
class Engine : public testing::Test {};
TYPED_TEST_SUITE(Engine, EventQueues, EventQueueNames);

TYPED_TEST(Engine, AStreamRunsItsKernelsInTurn) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  role.AddKernel(kCompute, "a", {.duration = 3us});
  role.AddKernel(kCompute, "b", {.duration = 4us});
  builder.AddRank(0, role);
  const Replay run = ReplayOf<TypeParam>(BuildOrDie(std::move(builder)), {});
  EXPECT_EQ(run.result.end, At(7us));
  EXPECT_EQ(run.of(0, kCompute, 1).started, At(3us));
  EXPECT_EQ(run.of(0, kCompute, 1).release.by, Release::By::kStream);
  EXPECT_EQ(run.of(0, kCompute, 0).release.by, Release::By::kBeginning);
  EXPECT_EQ(run.result.events, 2);
}

TYPED_TEST(Engine, ASlowRankTakesLongerForTheSameKernel) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  role.AddKernel(kCompute, "a", {.duration = 4us});
  builder.AddRank(0, role);
  builder.AddRank(1, role, /*multiplicity=*/1, /*slowness=*/1.25);
  const Replay run = ReplayOf<TypeParam>(BuildOrDie(std::move(builder)), {});
  EXPECT_EQ(run.result.ranks[RankId(0)].finished, At(4us));
  EXPECT_EQ(run.result.ranks[RankId(1)].finished, At(5us));
}

// Rank 0 arrives at 2, rank 1 at 5; the call takes 10 from then on.
TYPED_TEST(Engine, ACollectiveStartsWhenTheLastMemberArrives) {
  ProgramBuilder builder = TestBuilder();
  const GroupRef group = builder.AddGroup("tensor", 0);
  for (int32_t i = 0; i < 2; ++i) {
    RoleBuilder& role = builder.AddRole(i == 0 ? "early" : "late");
    const SlotRef slot = role.AddSlot("tensor", kTensorStream);
    const TaskRef before =
        role.AddKernel(kCompute, "before", {.duration = i == 0 ? 2us : 5us});
    const TaskRef sum = role.AddCollective(slot, "sum", AllReduce(100));
    const TaskRef after = role.AddKernel(kCompute, "after", {.duration = 1us});
    role.AddDependency(before, sum);
    role.AddDependency(sum, after);
    builder.Bind(builder.AddRank(i, role), slot, group);
  }
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf<TypeParam>(program, ClosedForm(program, 10us));
  EXPECT_EQ(run.result.end, At(16us));
  const TaskSpan& early = run.of(0, kTensorStream, 0);
  EXPECT_EQ(early.headed, At(0us));
  EXPECT_EQ(early.ready, At(2us));
  EXPECT_EQ(early.started, At(5us));
  EXPECT_EQ(early.ended, At(15us));
  EXPECT_EQ(early.release, (Release{Release::By::kPartner, 1}));
  const TaskSpan& late = run.of(1, kTensorStream, 0);
  EXPECT_EQ(late.waiting_for_partners(), 0us);
  EXPECT_EQ(late.release, (Release{Release::By::kDependency,
                                   static_cast<int32_t>(kCompute)}));
  const TaskSpan& after = run.of(0, kCompute, 1);
  EXPECT_EQ(after.waiting_for_dependencies(), 13us);
  EXPECT_EQ(after.release, (Release{Release::By::kDependency,
                                    static_cast<int32_t>(kTensorStream)}));
}

TYPED_TEST(Engine, ASendMeetsItsReceive) {
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
  const Replay run = ReplayOf<TypeParam>(program, ClosedForm(program, 4us));
  EXPECT_EQ(run.result.end, At(9us));
  EXPECT_EQ(run.of(1, kPipeline, 0).started, At(3us));
  EXPECT_EQ(run.of(1, kPipeline, 0).kind, SpanKind::kReceive);
}

TYPED_TEST(Engine, MarkersTakeNoTime) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const TaskRef begin = role.AddMarker(kTensorStream, "begin");
  const TaskRef kernel = role.AddKernel(kCompute, "k", {.duration = 5us});
  const TaskRef end = role.AddMarker(kTensorStream, "end");
  role.AddDependency(begin, kernel);
  role.AddDependency(kernel, end);
  builder.AddRank(0, role);
  const Replay run = ReplayOf<TypeParam>(BuildOrDie(std::move(builder)), {});
  EXPECT_EQ(run.result.end, At(5us));
  EXPECT_EQ(run.of(0, kTensorStream, 1).started, At(5us));
  EXPECT_EQ(run.result.events, 1);
}

// Two transfers of 100 and 200 units over one link of 100 per microsecond:
//   short: 100 at 50                  = 2 us
//   long : 100 at 50, then 100 at 100 = 3 us
TYPED_TEST(Engine, TheLongerTransferSpeedsUpWhenTheShorterEnds) {
  ProgramBuilder builder = TestBuilder();
  for (int32_t i = 0; i < 2; ++i) {
    RoleBuilder& role = builder.AddRole(i == 0 ? "short" : "long");
    const SlotRef slot = role.AddSlot("tensor", kTensorStream);
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
  const Replay run = ReplayOf<TypeParam>(program, transfers);
  EXPECT_EQ(run.of(0, kTensorStream, 0).ended, At(2us));
  EXPECT_EQ(run.of(1, kTensorStream, 0).ended, At(3us));
  EXPECT_DOUBLE_EQ(run.result.carried[link], 300);
}

// A chain of two phases: 1 + 100 / 100 and 2 + 50 / 25 (capped): 2 + 4.
TYPED_TEST(Engine, PhasesFollowEachOther) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensorStream);
  role.AddCollective(slot, "sum", AllReduce(100));
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Program program = BuildOrDie(std::move(builder));
  Transfers transfers;
  const ResourceId link = transfers.capacities.Add(100e6);
  transfers.plan_of_call.Add(transfers.plans.AddChain(
      {{.latency = 1us, .work = 100, .uses = {{link, 1.0}}},
       {.latency = 2us, .work = 50, .rate_cap = 25e6, .uses = {{link, 1.0}}}}));
  EXPECT_EQ(ReplayOf<TypeParam>(program, transfers).result.end, At(6us));
}

// A diamond: 1, then 2 and 5 side by side, then 1.
TYPED_TEST(Engine, AGraphOfStepsEndsWithItsLast) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensorStream);
  for (int i = 0; i < 2; ++i) role.AddCollective(slot, "sum", AllReduce(100));
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Program program = BuildOrDie(std::move(builder));
  Transfers transfers;
  transfers.plan_of_call.Add(transfers.plans.AddGraph(
      {{.latency = 1us}, {.latency = 2us}, {.latency = 5us}, {.latency = 1us}},
      {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  const Replay run = ReplayOf<TypeParam>(program, transfers);
  EXPECT_EQ(run.result.end, At(14us));
  EXPECT_EQ(run.result.transfer_steps, 8);
}

TYPED_TEST(Engine, ACallThatTakesNoTimeEndsAtOnce) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensorStream);
  for (int i = 0; i < 3; ++i) role.AddCollective(slot, "sum", AllReduce(0));
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  const Program program = BuildOrDie(std::move(builder));
  const Replay run = ReplayOf<TypeParam>(program, ClosedForm(program, 0us));
  EXPECT_EQ(run.result.end, At(0us));
  EXPECT_EQ(run.spans.size(), 3u);
}

}  // namespace
}  // namespace orrery
