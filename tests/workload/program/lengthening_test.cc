#include "workload/program/lengthening.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "workload/program/loop_cursor.h"
#include "workload/program/program_builder.h"

namespace orrery {
namespace {

using testing::ElementsAre;

constexpr StreamId kWork{0};
constexpr StreamId kNetwork{1};

// `steps` times a kernel and a sum that waits for it; the next kernel but one
// waits for the sum; in the end an update that waits for the last sum.
class Steps {
 public:
  explicit Steps(int steps) {
    TaskRef sum{};
    std::vector<TaskRef> sums;
    for (int i = 0; i < steps; ++i) {
      const TaskRef work =
          role_.AddKernel(kWork, "work", {.duration = Duration(10)});
      role_.Allocate(work, MemoryEffect::When::kStart, MemoryKind::kActivations,
                     Bytes(5));
      role_.Release(work, MemoryEffect::When::kEnd, MemoryKind::kActivations,
                    Bytes(5));
      if (i >= 2) {
        role_.AddDependency(sums[static_cast<size_t>(i) - 2], work);
      }
      sum = role_.AddCollective(slot_, "sum", {.bytes = Bytes(100)});
      role_.AddDependency(work, sum);
      sums.push_back(sum);
    }
    update_ = role_.AddKernel(kWork, "update", {.duration = Duration(7)});
    role_.AddDependency(sum, update_);
  }

  RoleBuilder& role() { return role_; }
  TaskRef update() const { return update_; }

  Program Build() {
    builder_.Bind(builder_.AddRank(0, role_), slot_,
                  builder_.AddGroup("all", 0));
    auto program = std::move(builder_).Build();
    CHECK(program.ok()) << program.status().ToString();
    return *std::move(program);
  }

 private:
  ProgramBuilder builder_{{{"compute", StreamKind::kCompute},
                           {"network", StreamKind::kCommunication}}};
  RoleBuilder& role_ = builder_.AddRole("one");
  SlotRef slot_ = role_.AddSlot("all", kNetwork);
  TaskRef update_{};
};

void ExpectSameTasks(const Program& looped, const Program& written) {
  EXPECT_EQ(looped.task_count(), written.task_count());
  const Role& a = looped.role_of(RankId(0));
  const Role& b = written.role_of(RankId(0));
  ASSERT_EQ(a.task_count(), b.task_count());
  for (const StreamId stream : written.streams().ids()) {
    EXPECT_EQ(a.stream_begin(stream), b.stream_begin(stream));
    LoopCursor cursor = LoopCursor::AtBeginning(a, stream);
    for (TaskId t = b.stream_begin(stream); t < b.stream_end(stream);
         t = static_cast<TaskId>(Index(t) + 1)) {
      SCOPED_TRACE(Index(t));
      EXPECT_EQ(cursor.next, t);
      EXPECT_EQ(cursor.place, a.place_of(t));
      EXPECT_EQ(cursor.turn, a.Find(t).turn);
      EXPECT_EQ(a.stream_of(t), stream);
      EXPECT_EQ(a.task(t).kind, b.task(t).kind);
      EXPECT_EQ(looped.name(a.name_of(t)), written.name(b.name_of(t)));
      EXPECT_EQ(a.memory_effects(t), b.memory_effects(t));
      const auto needed_a = a.dependencies(t);
      const auto needed_b = b.dependencies(t);
      EXPECT_EQ(std::vector<Dependency>(needed_a.begin(), needed_a.end()),
                std::vector<Dependency>(needed_b.begin(), needed_b.end()));
      if (a.task(t).dependency_count > 0) {
        const Dependency first{
            static_cast<StreamId>(a.task(t).first_dependency_stream),
            a.task(t).first_dependency};
        EXPECT_EQ(a.loop().InTurn(first, a.Find(t).turn), *needed_b.begin());
      }
      cursor.MoveOn(a.loop(), stream);
    }
  }
}

TEST(Lengthen, GivesTheTasksOfTheLongProgram) {
  const std::optional<Program> looped =
      Lengthen(Steps(6).Build(), Steps(7).Build(), 34);
  ASSERT_TRUE(looped);
  EXPECT_EQ(looped->role_of(RankId(0)).loop().turns, 35);
  EXPECT_EQ(looped->role_of(RankId(0)).place_count(), 13);
  ExpectSameTasks(*looped, Steps(40).Build());
}

TEST(Lengthen, CountsHowOftenCallsAreMade) {
  const std::optional<Program> looped =
      Lengthen(Steps(6).Build(), Steps(7).Build(), 34);
  ASSERT_TRUE(looped);
  const Role& role = looped->role_of(RankId(0));
  int64_t calls = 0;
  for (const TaskId task : role.slots()[SlotId(0)].sequence) {
    EXPECT_EQ(role.task(task).kind, TaskKind::kCollective);
    calls += role.times(role.place_of(task));
  }
  EXPECT_EQ(calls, 40);
}

TEST(Lengthen, CanTakeTurnsAwayAgain) {
  const std::optional<Program> looped =
      Lengthen(Steps(6).Build(), Steps(7).Build(), 34);
  ASSERT_TRUE(looped);
  const Role few = WithTurns(looped->role_of(RankId(0)), 3);
  const Program written = Steps(8).Build();
  const Role& role = written.role_of(RankId(0));
  ASSERT_EQ(few.task_count(), role.task_count());
  for (int32_t t = 0; t < role.task_count(); ++t) {
    const auto a = few.dependencies(static_cast<TaskId>(t));
    const auto b = role.dependencies(static_cast<TaskId>(t));
    EXPECT_EQ(std::vector<Dependency>(a.begin(), a.end()),
              std::vector<Dependency>(b.begin(), b.end()));
  }
}

TEST(Lengthen, RefusesWhatDoesNotGrowByTheSame) {
  const auto with = [](int steps, std::function<void(Steps&)> change) {
    Steps program(steps);
    change(program);
    return program.Build();
  };
  const Program shorter = Steps(6).Build();
  const auto kernel = [](Duration duration) {
    return [duration](Steps& s) {
      s.role().AddKernel(kWork, "last", {.duration = duration});
    };
  };
  // As it should be, with one more task in the end.
  EXPECT_TRUE(
      Lengthen(with(6, kernel(Duration(3))), with(7, kernel(Duration(3))), 10));
  // Another kernel, another name, more memory, fewer tasks.
  EXPECT_FALSE(
      Lengthen(with(6, kernel(Duration(3))), with(7, kernel(Duration(4))), 10));
  EXPECT_FALSE(Lengthen(shorter, with(7, kernel(Duration(7))), 10));
  EXPECT_FALSE(Lengthen(shorter,
                        with(7,
                             [](Steps& s) {
                               s.role().Allocate(
                                   s.update(), MemoryEffect::When::kStart,
                                   MemoryKind::kBuffers, Bytes(1));
                             }),
                        10));
  EXPECT_FALSE(Lengthen(shorter, Steps(5).Build(), 10));
  // What waits for the first sum in one waits for the third in the other.
  const auto waits = [](int place) {
    return [place](Steps& s) {
      const TaskRef end = s.role().AddMarker(StreamId(1), "end");
      (void)end;
      const TaskRef first{kWork, place};
      s.role().AddDependency(first, end);
    };
  };
  EXPECT_TRUE(Lengthen(with(6, waits(6)), with(7, waits(7)), 10));
  EXPECT_FALSE(Lengthen(with(6, waits(6)), with(7, waits(6)), 10));
}

// A body has to follow upon its like.
TEST(Lengthen, NeedsTwoOfAKind) {
  EXPECT_FALSE(Lengthen(Steps(2).Build(), Steps(3).Build(), 10));
  EXPECT_TRUE(Lengthen(Steps(3).Build(), Steps(4).Build(), 10));
}

TEST(Lengthen, RefusesWhatIdsCannotCount) {
  EXPECT_FALSE(Lengthen(Steps(6).Build(), Steps(7).Build(), 1 << 30));
}

}  // namespace
}  // namespace orrery
