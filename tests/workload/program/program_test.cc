#include "workload/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/status_matchers.h"
#include "workload/program/program_builder.h"

namespace orrery {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr StreamId kCompute{0};
constexpr StreamId kTensor{1};
constexpr StreamId kPipeline{2};

ProgramBuilder NewBuilder() {
  return ProgramBuilder({{"compute", StreamKind::kCompute},
                         {"tensor", StreamKind::kCommunication},
                         {"pipeline", StreamKind::kCommunication}});
}

KernelWork Microseconds(int64_t n) {
  return {.duration = std::chrono::microseconds(n)};
}

Communication AllReduce(int64_t bytes) {
  return {.kind = CommunicationKind::kAllReduce, .bytes = Bytes(bytes)};
}

TEST(ProgramBuilder, LaysTasksOutStreamByStream) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef tensor = role.AddSlot("tensor", kTensor);
  const TaskRef first = role.AddKernel(kCompute, "first", Microseconds(1));
  const TaskRef sum = role.AddCollective(tensor, "sum", AllReduce(8));
  const TaskRef second = role.AddKernel(kCompute, "second", Microseconds(2));
  role.AddDependency(first, sum);
  role.AddDependency(sum, second);
  const RankRef rank = builder.AddRank(0, role);
  builder.Bind(rank, tensor, builder.AddGroup("tensor", 0));
  ASSERT_OK_AND_ASSIGN(const Program program, std::move(builder).Build());

  const Role& compiled = program.role_of(RankId(0));
  EXPECT_EQ(compiled.task_count(), 3);
  EXPECT_EQ(compiled.stream_begin(kTensor), TaskId(2));
  EXPECT_EQ(compiled.stream_end(kTensor), TaskId(3));
  EXPECT_EQ(compiled.stream_of(TaskId(1)), kCompute);
  EXPECT_EQ(compiled.stream_of(TaskId(2)), kTensor);
  EXPECT_EQ(program.name(compiled.name_of(TaskId(2))), "sum");
  EXPECT_THAT(compiled.dependencies(TaskId(0)), IsEmpty());
  EXPECT_THAT(compiled.dependencies(TaskId(1)),
              ElementsAre(Dependency{kTensor, TaskId(2)}));
  EXPECT_THAT(compiled.dependencies(TaskId(2)),
              ElementsAre(Dependency{kCompute, TaskId(0)}));
  ASSERT_EQ(program.calls().size(), 1u);
  EXPECT_EQ(program.calls()[CallId(0)].what, AllReduce(8));
  EXPECT_EQ(program.Describe(RankId(0), TaskId(2)),
            "rank 0 tensor: 'sum' (task 2)");
}

TEST(ProgramBuilder, DropsDependenciesThatFollowFromOthers) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const TaskRef a0 = role.AddMarker(kCompute, "a0");
  const TaskRef a1 = role.AddMarker(kCompute, "a1");
  const TaskRef b0 = role.AddMarker(kTensor, "b0");
  const TaskRef b1 = role.AddMarker(kTensor, "b1");
  const TaskRef c0 = role.AddMarker(kPipeline, "c0");
  role.AddDependency(a1, b0);
  role.AddDependency(a0, b1);  // a0 is before a1, which b0 waited for
  role.AddDependency(b0, c0);
  role.AddDependency(a1, c0);  // b0 waited for it
  role.AddDependency(a0, a1);  // the stream's own order
  builder.AddRank(0, role);
  ASSERT_OK_AND_ASSIGN(const Program program, std::move(builder).Build());
  const Role& compiled = program.role_of(RankId(0));
  EXPECT_THAT(compiled.dependencies(TaskId(1)), IsEmpty());
  EXPECT_THAT(compiled.dependencies(TaskId(2)),
              ElementsAre(Dependency{kCompute, TaskId(1)}));
  EXPECT_THAT(compiled.dependencies(TaskId(3)), IsEmpty());
  EXPECT_THAT(compiled.dependencies(TaskId(4)),
              ElementsAre(Dependency{kTensor, TaskId(2)}));
}

// 16 384 ranks of one role: the tasks are there once.
TEST(ProgramBuilder, RanksShareTheirRole) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  for (int i = 0; i < 600; ++i) {
    role.AddKernel(kCompute, "kernel", Microseconds(1));
  }
  for (int32_t rank = 0; rank < 16'384; ++rank) builder.AddRank(rank, role);
  ASSERT_OK_AND_ASSIGN(const Program program, std::move(builder).Build());
  EXPECT_EQ(program.roles().size(), 1u);
  EXPECT_EQ(program.task_count(), 16'384 * 600);
}

TEST(ProgramBuilder, IdsFollowContentNotOrder) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& late = builder.AddRole("b");
  late.AddMarker(kCompute, "zeta");
  RoleBuilder& early = builder.AddRole("a");
  const SlotRef slot = early.AddSlot("tensor", kTensor);
  early.AddCollective(slot, "alpha", AllReduce(1));
  const RankRef seven = builder.AddRank(7, early);
  builder.AddRank(3, late);
  builder.AddGroup("tensor", 9);
  const GroupRef four = builder.AddGroup("tensor", 4);
  builder.Bind(seven, slot, four);
  const RankRef eight = builder.AddRank(8, early);
  builder.Bind(eight, slot, GroupRef(0));
  ASSERT_OK_AND_ASSIGN(const Program program, std::move(builder).Build());
  EXPECT_EQ(program.roles()[RoleId(0)].name(), "a");
  EXPECT_EQ(program.ranks()[RankId(0)].number, 3);
  EXPECT_EQ(program.ranks()[RankId(1)].number, 7);
  EXPECT_EQ(program.groups()[GroupId(0)].index, 4);
  EXPECT_EQ(program.group_of(RankId(1), SlotId(0)), GroupId(0));
  EXPECT_EQ(program.name(NameId(0)), "alpha");
}

TEST(ProgramBuilder, AChannelListsItsSenderFirst) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& receiver = builder.AddRole("receiver");
  const SlotRef in = receiver.AddSlot("in", kPipeline);
  receiver.AddReceive(in, "receive", {.bytes = Bytes(4)});
  RoleBuilder& sender = builder.AddRole("sender");
  const SlotRef out = sender.AddSlot("out", kPipeline);
  sender.AddSend(out, "send", {.bytes = Bytes(4)});
  const GroupRef channel = builder.AddGroup("channel", 0);
  builder.Bind(builder.AddRank(0, receiver), in, channel);
  builder.Bind(builder.AddRank(1, sender), out, channel);
  ASSERT_OK_AND_ASSIGN(const Program program, std::move(builder).Build());
  const auto members = program.members(GroupId(0));
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].rank, RankId(1));
  EXPECT_EQ(members[1].rank, RankId(0));
  EXPECT_EQ(program.calls()[CallId(0)].what.kind,
            CommunicationKind::kPointToPoint);
}

// --- What is refused ---

TEST(ProgramBuilder, NamesTheCycle) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const TaskRef a = role.AddMarker(kCompute, "alpha");
  role.AddMarker(kTensor, "beta");
  const TaskRef c = role.AddMarker(kTensor, "gamma");
  role.AddDependency(a, TaskRef{kTensor, 0});
  role.AddDependency(c, a);
  builder.AddRank(0, role);
  EXPECT_THAT(std::move(builder).Build(),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("role 'worker'"), HasSubstr("cycle"),
                             HasSubstr("'alpha' (compute #0) waits for 'gamma' "
                                       "(tensor #1) waits for 'beta' (tensor "
                                       "#0) waits for 'alpha'"))));
}

TEST(ProgramBuilder, RefusesASendNobodyReceives) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef out = role.AddSlot("out", kPipeline);
  role.AddSend(out, "send", {.bytes = Bytes(4)});
  builder.Bind(builder.AddRank(5, role), out, builder.AddGroup("channel", 3));
  EXPECT_THAT(std::move(builder).Build(),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("group channel[3]"),
                             HasSubstr("rank 5 (role 'worker', slot 'out') "
                                       "sends and nobody receives"))));
}

TEST(ProgramBuilder, RefusesOneMoreReceiveThanSends) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& sender = builder.AddRole("sender");
  const SlotRef out = sender.AddSlot("out", kPipeline);
  sender.AddSend(out, "send", {.bytes = Bytes(4)});
  RoleBuilder& receiver = builder.AddRole("receiver");
  const SlotRef in = receiver.AddSlot("in", kPipeline);
  receiver.AddReceive(in, "one", {.bytes = Bytes(4)});
  receiver.AddReceive(in, "two", {.bytes = Bytes(4)});
  const GroupRef channel = builder.AddGroup("channel", 0);
  builder.Bind(builder.AddRank(0, sender), out, channel);
  builder.Bind(builder.AddRank(1, receiver), in, channel);
  EXPECT_THAT(
      std::move(builder).Build(),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("call #1"), HasSubstr("makes only 1 calls"),
                     HasSubstr("in task 'two'"))));
}

TEST(ProgramBuilder, RefusesTwoSenders) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("sender");
  const SlotRef out = role.AddSlot("out", kPipeline);
  role.AddSend(out, "send", {.bytes = Bytes(4)});
  const GroupRef channel = builder.AddGroup("channel", 0);
  builder.Bind(builder.AddRank(0, role), out, channel);
  builder.Bind(builder.AddRank(1, role), out, channel);
  EXPECT_THAT(std::move(builder).Build(),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("not one sender and one receiver")));
}

TEST(ProgramBuilder, RefusesMembersThatDisagree) {
  ProgramBuilder builder = NewBuilder();
  const GroupRef group = builder.AddGroup("tensor", 2);
  for (int32_t i = 0; i < 2; ++i) {
    RoleBuilder& role = builder.AddRole(i == 0 ? "left" : "right");
    const SlotRef slot = role.AddSlot("tensor", kTensor);
    role.AddCollective(slot, "same", AllReduce(64));
    role.AddCollective(slot, "other", AllReduce(i == 0 ? 100 : 200));
    builder.Bind(builder.AddRank(i, role), slot, group);
  }
  EXPECT_THAT(
      std::move(builder).Build(),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("group tensor[2]: members disagree on call #1"),
                     HasSubstr("rank 0 (role 'left', slot 'tensor') makes "
                               "all_reduce of 100 bytes"),
                     HasSubstr("all_reduce of 200 bytes"))));
}

TEST(ProgramBuilder, RefusesAnUnboundSlot) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  role.AddSlot("tensor", kTensor);
  builder.AddRank(4, role);
  EXPECT_THAT(std::move(builder).Build(),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("rank 4: slot 'tensor' of role 'worker' is "
                                 "bound to no group")));
}

TEST(ProgramBuilder, RefusesARankBoundTwiceToAGroup) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef one = role.AddSlot("one", kTensor);
  const SlotRef two = role.AddSlot("two", kTensor);
  const RankRef rank = builder.AddRank(0, role);
  const GroupRef group = builder.AddGroup("tensor", 0);
  builder.Bind(rank, one, group);
  builder.Bind(rank, two, group);
  EXPECT_THAT(
      std::move(builder).Build(),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("bound to it twice")));
}

TEST(ProgramBuilder, RefusesASlotThatMixesDirections) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("mixed", kPipeline);
  role.AddSend(slot, "send", {.bytes = Bytes(4)});
  role.AddReceive(slot, "receive", {.bytes = Bytes(4)});
  builder.AddRank(0, role);
  EXPECT_THAT(std::move(builder).Build(),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("slot 'mixed' mixes collectives, sends")));
}

TEST(ProgramBuilder, RefusesMoreReleasedThanHeld) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const TaskRef task = role.AddMarker(kCompute, "free");
  role.SetInitialMemory(MemoryKind::kWeights, Bytes(10));
  role.Release(task, MemoryEffect::When::kEnd, MemoryKind::kWeights, Bytes(12));
  builder.AddRank(0, role);
  EXPECT_THAT(
      std::move(builder).Build(),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("releases 2 bytes of weights more than it holds")));
}

TEST(ProgramBuilder, RefusesNumbersOutOfRange) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  role.AddKernel(kCompute, "backwards", {.duration = Duration(-1)});
  role.AddKernel(kCompute, "greedy",
                 {.duration = Duration(1), .demand = {.compute = 1.5}});
  builder.AddRank(0, role);
  EXPECT_THAT(std::move(builder).Build(),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'backwards' (compute #0)"),
                             HasSubstr("'greedy' (compute #1)"))));
}

TEST(ProgramBuilder, RefusesRanksOfTheSameNumberAndBadFactors) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  builder.AddRank(1, role);
  builder.AddRank(1, role);
  builder.AddRank(2, role, /*multiplicity=*/0);
  builder.AddRank(3, role, /*multiplicity=*/1, /*slowness=*/-1);
  EXPECT_THAT(std::move(builder).Build(),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("two ranks have the number 1"),
                             HasSubstr("rank 2: multiplicity 0"),
                             HasSubstr("slowness -1"))));
}

TEST(ProgramBuilder, RefusesMoreSlotsThanATaskCanName) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  for (int i = 0; i < 70'000; ++i) role.AddSlot("slot", kTensor);
  builder.AddRank(0, role);
  EXPECT_THAT(std::move(builder).Build(),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("role 'worker': 70000 slots are more than the "
                                 "65535 a role can have")));
}

// A thousand mistakes are not a thousand lines.
TEST(ProgramBuilder, SummarisesManyMistakes) {
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  role.AddSlot("tensor", kTensor);
  for (int32_t rank = 0; rank < 1000; ++rank) builder.AddRank(rank, role);
  EXPECT_THAT(std::move(builder).Build(), StatusIs(StatusCode::kInvalidArgument,
                                                   HasSubstr("and 980 more")));
}

// The reduced dependencies of random graphs imply every written one: what a
// vector clock over the reduced graph reaches covers them.
TEST(ProgramBuilder, ReducedDependenciesImplyTheWrittenOnes) {
  Rng rng(3, "dependencies");
  for (int round = 0; round < 300; ++round) {
    ProgramBuilder builder = NewBuilder();
    RoleBuilder& role = builder.AddRole("worker");
    std::vector<TaskRef> tasks;
    std::vector<std::pair<size_t, size_t>> written;
    const int64_t count = rng.Between(2, 40);
    for (int64_t i = 0; i < count; ++i) {
      tasks.push_back(
          role.AddMarker(static_cast<StreamId>(rng.Below(3)), "task"));
      for (uint64_t k = rng.Below(4); i > 0 && k > 0; --k) {
        const size_t before = rng.Below(static_cast<uint64_t>(i));
        role.AddDependency(tasks[before], tasks.back());
        written.push_back({before, static_cast<size_t>(i)});
      }
    }
    builder.AddRank(0, role);
    ASSERT_OK_AND_ASSIGN(const Program program, std::move(builder).Build());
    const Role& compiled = program.role_of(RankId(0));
    const auto id_of = [&](TaskRef ref) {
      return Index(compiled.stream_begin(ref.stream)) +
             static_cast<size_t>(ref.position);
    };
    // reached[a][b]: b is done when a starts. Tasks were made in a topological
    // order.
    const auto n = static_cast<size_t>(count);
    std::vector<std::vector<bool>> reached(n, std::vector<bool>(n, false));
    const auto reach = [&](size_t from, size_t to) {
      reached[from][to] = true;
      for (size_t k = 0; k < n; ++k) {
        if (reached[to][k]) reached[from][k] = true;
      }
    };
    size_t kept = 0;
    for (const TaskRef ref : tasks) {
      const size_t task = id_of(ref);
      if (ref.position > 0) reach(task, task - 1);
      for (const Dependency& d :
           compiled.dependencies(static_cast<TaskId>(task))) {
        ASSERT_FALSE(reached[task][Index(d.task)]) << "a useless dependency";
        ++kept;
      }
      for (const Dependency& d :
           compiled.dependencies(static_cast<TaskId>(task))) {
        reach(task, Index(d.task));
      }
    }
    for (const auto& [before, after] : written) {
      ASSERT_TRUE(reached[id_of(tasks[after])][id_of(tasks[before])]);
    }
    ASSERT_LE(kept, written.size());
  }
}

}  // namespace
}  // namespace orrery
