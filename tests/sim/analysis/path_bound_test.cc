#include "sim/analysis/path_bound.h"

#include <gtest/gtest.h>

#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "tests/sim/engine/random_program.h"
#include "tests/workload/lowering/stepped.h"
#include "workload/program/program_builder.h"

namespace orrery {
namespace {

// Two ranks. Rank 0: kernel 10, sends (5); rank 1: kernel 4, receives, kernel
// 3. The path: 10 + 5 + 3.
TEST(LongestPath, FollowsStreamsDependenciesAndPartners) {
  ProgramBuilder builder({{"compute", StreamKind::kCompute},
                          {"network", StreamKind::kCommunication}});
  const Communication what{.kind = CommunicationKind::kPointToPoint,
                           .bytes = Bytes(100)};
  RoleBuilder& sender = builder.AddRole("sender");
  const SlotRef out = sender.AddSlot("out", StreamId(1));
  const TaskRef work =
      sender.AddKernel(StreamId(0), "work", {.duration = Duration(10)});
  sender.AddDependency(work, sender.AddSend(out, "send", what));
  RoleBuilder& receiver = builder.AddRole("taker");
  const SlotRef in = receiver.AddSlot("in", StreamId(1));
  receiver.AddKernel(StreamId(0), "early", {.duration = Duration(4)});
  const TaskRef got = receiver.AddReceive(in, "receive", what);
  receiver.AddDependency(
      got, receiver.AddKernel(StreamId(0), "late", {.duration = Duration(3)}));
  const GroupRef channel = builder.AddGroup("channel", 0);
  builder.Bind(builder.AddRank(0, sender), out, channel);
  builder.Bind(builder.AddRank(1, receiver), in, channel);
  const auto program = std::move(builder).Build();
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  Transfers transfers;
  const TransferStep step{.latency = Duration(5)};
  transfers.plan_of_call.Add(transfers.plans.AddChain({&step, 1}));
  EXPECT_EQ(LongestPath(*program, transfers), Duration(18));
}

// Steps 0 and 1 at once, then 2: 7 + 2, not 3 + 7 + 2.
TEST(ShortestTime, IsTheLongestWayThroughThePlan) {
  Transfers transfers;
  const TransferStep steps[] = {{.latency = Duration(3)},
                                {.latency = Duration(7)},
                                {.latency = Duration(2)}};
  const StepOrder orders[] = {{0, 2}, {1, 2}};
  const PlanId plan = transfers.plans.AddGraph(steps, orders);
  EXPECT_EQ(ShortestTime(transfers, plan), Duration(9));
  EXPECT_EQ(SerialTime(transfers, plan), Duration(12));
}

// Two ranks with a call each over one link of 1 byte per picosecond, on streams
// of their own: 60 bytes alone take 60 ps, of two at once each takes 120. A
// kernel of 10 beside a call that holds a fifth of the chip takes 12.5 at most.
TEST(SlowestPath, CountsAllThatCanBeThereAtOnce) {
  ProgramBuilder builder({{"compute", StreamKind::kCompute},
                          {"network", StreamKind::kCommunication}});
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("group", StreamId(1));
  role.AddKernel(StreamId(0), "work", {.duration = Duration(10000)});
  role.AddCollective(slot, "sum",
                     {.bytes = Bytes(60), .share = {.compute = 0.2}});
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("group", 0));
  builder.Bind(builder.AddRank(1, role), slot, builder.AddGroup("group", 1));
  const auto program = std::move(builder).Build();
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  Transfers transfers;
  transfers.capacities.Add(1e12);
  const TransferStep step{.work = 60, .uses = {{ResourceId(0), 1}}};
  for (int i = 0; i < 2; ++i) {
    transfers.plan_of_call.Add(transfers.plans.AddChain({&step, 1}));
  }
  EXPECT_EQ(LongestPath(*program, transfers), Duration(10000));
  EXPECT_EQ(SlowestPath(*program, transfers), Duration(12500));
}

// A call of one flow beside a call of ten, over one link of 1 byte per
// picosecond: flows are equals, so the one gets an eleventh of the link, and 60
// bytes take 660 ps; 600 bytes of the others take as long. A kernel of 1000
// follows the one. As in a run of both.
TEST(SlowestPath, CountsFlowsNotCalls) {
  ProgramBuilder builder({{"compute", StreamKind::kCompute},
                          {"network", StreamKind::kCommunication}});
  for (const int rank : {0, 1}) {
    RoleBuilder& role = builder.AddRole(rank == 0 ? "one" : "ten");
    const SlotRef slot = role.AddSlot("group", StreamId(1));
    const TaskRef call = role.AddCollective(slot, "sum", {.bytes = Bytes(60)});
    if (rank == 0) {
      role.AddDependency(call, role.AddKernel(StreamId(0), "late",
                                              {.duration = Duration(1000)}));
    }
    builder.Bind(builder.AddRank(rank, role), slot,
                 builder.AddGroup("group", rank));
  }
  const auto program = std::move(builder).Build();
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  Transfers transfers;
  transfers.capacities.Add(1e12);
  const TransferStep one{.work = 60, .uses = {{ResourceId(0), 1}}};
  const TransferStep ten{
      .work = 600, .penalty = 0.1, .uses = {{ResourceId(0), 1}}};
  transfers.plan_of_call.Add(transfers.plans.AddChain({&one, 1}));
  transfers.plan_of_call.Add(transfers.plans.AddChain({&ten, 1}));
  EXPECT_EQ(LongestPath(*program, transfers), Duration(1060));
  EXPECT_EQ(SlowestPath(*program, transfers), Duration(1660));
  NullSink sink;
  const auto run = Simulate(*program, transfers, {}, sink);
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_EQ(run->end, Time(Duration(1660)));
}

// A kernel, a call that needs it, a kernel that needs the call: whatever the
// call holds of the chip, no kernel runs beside it. A third kernel that needs
// neither comes last in its stream, and does not either.
TEST(SlowestPath, KnowsWhatNeverRunsBesideAKernel) {
  ProgramBuilder builder({{"compute", StreamKind::kCompute},
                          {"network", StreamKind::kCommunication}});
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("group", StreamId(1));
  const TaskRef first =
      role.AddKernel(StreamId(0), "first", {.duration = Duration(10000)});
  const TaskRef call = role.AddCollective(
      slot, "sum", {.bytes = Bytes(60), .share = {.compute = 0.4}});
  const TaskRef second =
      role.AddKernel(StreamId(0), "second", {.duration = Duration(10000)});
  role.AddKernel(StreamId(0), "third", {.duration = Duration(10000)});
  role.AddDependency(first, call);
  role.AddDependency(call, second);
  builder.Bind(builder.AddRank(0, role), slot, builder.AddGroup("group", 0));
  const auto program = std::move(builder).Build();
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  Transfers transfers;
  const TransferStep step{.latency = Duration(5000)};
  transfers.plan_of_call.Add(transfers.plans.AddChain({&step, 1}));
  EXPECT_EQ(SlowestPath(*program, transfers), Duration(35000));
}

// Programs of all kinds: calls of unlike flows on the same links, kernels of
// one stream or of several, launches, slow ranks.
TEST(SlowestPath, IsNeverShorterThanARun) {
  constexpr uint64_t kPrograms = 1000;
  int tight = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram random = MakeRandomProgram(seed);
    Rng rng(seed, "penalties");
    for (RandomProgram::Plan& plan : random.plans) {
      for (TransferStep& step : plan.steps) {
        step.penalty = 0.125 * static_cast<double>(rng.Between(1, 32));
      }
    }
    for (RandomOperation& operation : random.operations) {
      if (!operation.group && seed % 2 == 0) operation.stream = kCompute;
    }
    const AssembledProgram assembled = Assemble(random);
    NullSink sink;
    const auto run = Simulate(assembled.program, assembled.transfers, {}, sink);
    ASSERT_TRUE(run.ok()) << run.status().ToString();
    // Each change of a rate rounds to a picosecond.
    const Duration end = run->end.time_since_epoch();
    const Duration rounding(assembled.program.task_count());
    EXPECT_LE(LongestPath(assembled.program, assembled.transfers),
              end + rounding);
    const auto slowest = SlowestPath(assembled.program, assembled.transfers);
    if (!slowest) continue;
    EXPECT_GE(*slowest + rounding, end);
    tight += *slowest <= 2 * end ? 1 : 0;
  }
  EXPECT_GT(tight, static_cast<int>(kPrograms) / 4);
}

// Kernels without demand for the chip and calls of given length share nothing:
// the engine takes exactly as long as the longest path.
TEST(LongestPath, IsTheRunWhereNothingIsShared) {
  const auto time = [](const Communication& what, size_t members) {
    return Duration(5000 + 13 * static_cast<int64_t>(members) +
                    what.bytes.value() / 4000);
  };
  for (const char* plan :
       {"parallel { tensor: 4 pipeline: 4 sequence_parallel: true }",
        "parallel { pipeline: 4 } schedule: DUAL_PIPE global_batch: 256",
        "parallel { context: 4 pipeline: 2 } sharding: ZERO_3",
        "parallel { pipeline: 4 } schedule: ZB_V virtual_stages: 2"}) {
    SCOPED_TRACE(plan);
    const TrainingCase c = MakeCase(plan, 8);
    for (const bool fold : {true, false}) {
      const StepRun run = RunStep(c, {.fold = fold}, time);
      EXPECT_EQ(LongestPath(run.placed.program, GivenTimes(run.placed, time)),
                run.result.end.time_since_epoch());
      EXPECT_EQ(SlowestPath(run.placed.program, GivenTimes(run.placed, time)),
                run.result.end.time_since_epoch());
    }
  }
}

}  // namespace
}  // namespace orrery
