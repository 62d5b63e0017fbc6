#include "sim/analysis/step_breakdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/format.h"
#include "base/random.h"
#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "tests/sim/engine/programs_for_tests.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using namespace std::chrono_literals;

struct RankTime {
  StepBreakdown parts;
  std::vector<Bubble> bubbles;
  Time end;
};

// Of each stream.
std::vector<Duration> Exposed(const StepBreakdown& parts) {
  std::vector<Duration> times;
  for (const auto& stream : parts.exposed) times.push_back(stream.time);
  return times;
}

RankTime TimeOf(const Program& program, RankId rank, Duration call) {
  BreakdownSink sink(program, rank);
  const RunResult run =
      Simulate(program, ClosedForm(program, call), {}, sink).value();
  StepBreakdown parts = sink.Finish(run.end);
  return {std::move(parts), sink.bubbles(), run.end};
}

// The second stage's first kernel waits for a gather that waits for a receive
// that waits for the first stage. Calls take 4 us.
//   stage 0: work 10 | send 4
//   stage 1:         | receive 4 | gather 4 | work 5
TEST(StepBreakdown, FollowsAWaitThroughEverythingItWaitedFor) {
  ProgramBuilder builder = TestBuilder();
  const GroupRef channel = builder.AddGroup("pipeline", 0);
  RoleBuilder& first = builder.AddRole("stage 0");
  const SlotRef out = first.AddSlot("pipeline", kPipeline);
  const Communication message = {.bytes = Bytes(1)};
  const TaskRef work = first.AddKernel(kCompute, "work", {.duration = 10us});
  first.AddDependency(work, first.AddSend(out, "send", message));
  builder.Bind(builder.AddRank(0, first), out, channel);

  RoleBuilder& second = builder.AddRole("stage 1");
  const SlotRef in = second.AddSlot("pipeline", kPipeline);
  const SlotRef tensor = second.AddSlot("tensor", kTensorStream);
  const TaskRef receive = second.AddReceive(in, "receive", message);
  const TaskRef gather = second.AddCollective(tensor, "gather", AllReduce(1));
  const TaskRef after = second.AddKernel(kCompute, "work", {.duration = 5us});
  second.AddDependency(receive, gather);
  second.AddDependency(gather, after);
  const RankRef rank = builder.AddRank(1, second);
  builder.Bind(rank, in, channel);
  builder.Bind(rank, tensor, builder.AddGroup("tensor", 0));

  const Program program = BuildOrDie(std::move(builder));
  const RankTime time = TimeOf(program, RankId(1), 4us);
  EXPECT_EQ(time.parts.bubble, 10us);
  EXPECT_THAT(Exposed(time.parts), ElementsAre(0us, 4us, 4us));
  EXPECT_EQ(time.parts.kernels.arithmetic, 5us);
  EXPECT_EQ(time.parts.total(), 23us);
  EXPECT_EQ(time.end, Time(23us));
  ASSERT_EQ(time.bubbles.size(), 1u);
  EXPECT_EQ(time.bubbles[0].from, Time(0us));
  EXPECT_EQ(time.bubbles[0].to, Time(10us));
  // The first stage has nothing to do after its send: 14 to 23.
  const RankTime other = TimeOf(program, RankId(0), 4us);
  EXPECT_EQ(other.parts.bubble, 9us);
  EXPECT_THAT(Exposed(other.parts), ElementsAre(0us, 0us, 4us));
}

// Two ranks with the same work, one of them 1.5 times slower.
//   rank 0: before 4 | wait 2 | sum 3 | after 2
//   rank 1: before 6          | sum 3 | after 3
// At the end rank 0 waits one more microsecond for the other to end.
TEST(StepBreakdown, ARankWithTheSameWorkThatIsLateIsALatePeer) {
  ProgramBuilder builder = TestBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensorStream);
  const TaskRef before = role.AddKernel(kCompute, "before", {.duration = 4us});
  const TaskRef sum = role.AddCollective(slot, "sum", AllReduce(1));
  const TaskRef after = role.AddKernel(kCompute, "after", {.duration = 2us});
  role.AddDependency(before, sum);
  role.AddDependency(sum, after);
  const GroupRef both = builder.AddGroup("tensor", 0);
  builder.Bind(builder.AddRank(0, role), slot, both);
  builder.Bind(builder.AddRank(1, role, 1, 1.5), slot, both);
  const Program program = BuildOrDie(std::move(builder));
  const RankTime fast = TimeOf(program, RankId(0), 3us);
  EXPECT_EQ(fast.parts.late_peer, 3us);
  EXPECT_EQ(fast.parts.kernels.arithmetic, 6us);
  EXPECT_THAT(Exposed(fast.parts), ElementsAre(0us, 3us, 0us));
  EXPECT_EQ(fast.parts.bubble, 0us);
  const RankTime slow = TimeOf(program, RankId(1), 3us);
  EXPECT_EQ(slow.parts.late_peer, 0us);
  EXPECT_EQ(slow.parts.kernels.slow_chip, 3us);
  EXPECT_EQ(slow.parts.bubble, 0us);
}

// Random work on four ranks that meet again and again: whatever happens, the
// parts of every rank sum to the end of the run, and the bubbles to "bubble".
TEST(StepBreakdown, ItsPartsAreTheTimeOfTheRun) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed, "step breakdown test");
    ProgramBuilder builder = TestBuilder();
    const GroupRef all = builder.AddGroup("tensor", 0);
    const GroupRef more = builder.AddGroup("pipeline", 0);
    for (int32_t i = 0; i < 4; ++i) {
      RoleBuilder& role = builder.AddRole(fmt::format("role {}", i));
      const SlotRef slot = role.AddSlot("tensor", kTensorStream);
      const SlotRef other = role.AddSlot("pipeline", kPipeline);
      TaskRef last{};
      for (int layer = 0; layer < 20; ++layer) {
        const TaskRef kernel =
            role.AddKernel(kCompute, "kernel",
                           {.duration = Duration(rng.Between(1, 5'000'000))});
        if (layer > 1) role.AddDependency(last, kernel);
        const TaskRef first = role.AddCollective(slot, "sum", AllReduce(layer));
        role.AddDependency(kernel, first);
        last = role.AddCollective(other, "again", AllReduce(layer));
        role.AddDependency(first, last);
        role.AddKernel(kCompute, "beside",
                       {.duration = Duration(rng.Between(0, 3'000'000))});
      }
      const RankRef rank = builder.AddRank(i, role, 1, 1 + 0.1 * i);
      builder.Bind(rank, slot, all);
      builder.Bind(rank, other, more);
    }
    const Program program = BuildOrDie(std::move(builder));
    for (const RankId rank : program.ranks().ids()) {
      const RankTime time = TimeOf(program, rank, 1us);
      EXPECT_EQ(time.parts.total(), time.end - Time{});
      Duration bubble{0};
      Time last{};
      for (const Bubble& b : time.bubbles) {
        EXPECT_LE(last, b.from);
        EXPECT_LT(b.from, b.to);
        last = b.to;
        bubble += b.to - b.from;
      }
      EXPECT_EQ(bubble, time.parts.bubble);
    }
  }
}

}  // namespace
}  // namespace orrery
