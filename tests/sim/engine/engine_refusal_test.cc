// What the engine refuses or gives up, and how it says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/engine/span_sinks.h"
#include "tests/sim/engine/event_queues.h"
#include "tests/sim/engine/replay.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;
using namespace std::chrono_literals;

template <class Queue>
class EngineRefusal : public testing::Test {};
TYPED_TEST_SUITE(EngineRefusal, EventQueues, EventQueueNames);

// Two ranks call two groups in opposite orders on one stream.
TYPED_TEST(EngineRefusal, ExplainsADeadlockBetweenRanks) {
  ProgramBuilder builder = TestBuilder();
  const GroupRef x = builder.AddGroup("x", 0);
  const GroupRef y = builder.AddGroup("y", 0);
  for (int32_t i = 0; i < 2; ++i) {
    RoleBuilder& role = builder.AddRole(i == 0 ? "left" : "right");
    const SlotRef slot_x = role.AddSlot("x", kTensorStream);
    const SlotRef slot_y = role.AddSlot("y", kTensorStream);
    role.AddCollective(i == 0 ? slot_x : slot_y, "first", AllReduce(1));
    role.AddCollective(i == 0 ? slot_y : slot_x, "second", AllReduce(1));
    const RankRef rank = builder.AddRank(i, role);
    builder.Bind(rank, slot_x, x);
    builder.Bind(rank, slot_y, y);
  }
  const Program program = BuildOrDie(std::move(builder));
  NullSink sink;
  EXPECT_THAT(
      Simulate<TypeParam>(program, ClosedForm(program, 1us), {}, sink),
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
TYPED_TEST(EngineRefusal, ExplainsADeadlockThroughDependencies) {
  ProgramBuilder builder = TestBuilder();
  const GroupRef group = builder.AddGroup("tensor", 0);
  const GroupRef channel = builder.AddGroup("channel", 0);
  RoleBuilder& left = builder.AddRole("left");
  const SlotRef left_tensor = left.AddSlot("tensor", kTensorStream);
  const SlotRef in = left.AddSlot("in", kPipeline);
  const TaskRef got = left.AddReceive(in, "receive", {.bytes = Bytes(1)});
  left.AddDependency(got, left.AddCollective(left_tensor, "sum", AllReduce(1)));
  RoleBuilder& right = builder.AddRole("right");
  const SlotRef right_tensor = right.AddSlot("tensor", kTensorStream);
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
      Simulate<TypeParam>(program, ClosedForm(program, 1us), {}, sink),
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

TYPED_TEST(EngineRefusal, RefusesTimeBeyondItsRange) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  for (int i = 0; i < 3; ++i) {
    role.AddKernel(kCompute, "century", {.duration = Duration::max() / 2});
  }
  builder.AddRank(0, role);
  NullSink sink;
  EXPECT_THAT(Simulate<TypeParam>(BuildOrDie(std::move(builder)), {}, {}, sink),
              StatusIs(StatusCode::kOutOfRange,
                       AllOf(HasSubstr("rank 0 compute: 'century' (task 2)"),
                             HasSubstr("106 days"))));
}

TYPED_TEST(EngineRefusal, RefusesARunThatDoesNotFit) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  role.AddKernel(kCompute, "k", {.duration = 1us});
  for (int32_t rank = 0; rank < 1000; ++rank) builder.AddRank(rank, role);
  const Program program = BuildOrDie(std::move(builder));
  NullSink sink;
  EXPECT_THAT(
      Simulate<TypeParam>(program, {}, {.max_state = Bytes(1000)}, sink),
      StatusIs(StatusCode::kResourceExhausted,
               AllOf(HasSubstr("1000 ranks"), HasSubstr("1000 B"))));
  RecordingSink recording(Bytes(1000));
  EXPECT_THAT(Simulate<TypeParam>(program, {}, {}, recording),
              StatusIs(StatusCode::kResourceExhausted,
                       HasSubstr("to record 1000 tasks")));
}

TYPED_TEST(EngineRefusal, RefusesCallsWithoutPlans) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensorStream);
  role.AddCollective(slot, "sum", AllReduce(100));
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("tensor", 0));
  NullSink sink;
  EXPECT_THAT(Simulate<TypeParam>(BuildOrDie(std::move(builder)), {}, {}, sink),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("1 distinct calls but 0 have a plan")));
}

}  // namespace
}  // namespace orrery
