#include "analytic/step/pass_walk.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TimedTask Kernel(double seconds, TaskNumbers after) {
  return {.dimension = std::nullopt,
          .seconds = seconds,
          .least = seconds,
          .after = std::move(after)};
}
TimedTask Call(double seconds, double least, TaskNumbers after) {
  return {.dimension = Dimension::kExpert,
          .seconds = seconds,
          .least = least,
          .after = std::move(after)};
}

// A kernel, a call of its result, and a kernel that needs what comes.
PassTasks There(double before, double call, double after) {
  return {.tasks = {Kernel(before, {kPassInput}), Call(call, 1, {0}),
                    Kernel(after, {1})},
          .exits = {2}};
}

TEST(WalkPass, WaitsForItsCalls) {
  const PassDelays delays = WalkPass(There(2, 3, 1), {});
  EXPECT_EQ(delays.after_kernels.kernels, 2 + 3 + 1);
  EXPECT_EQ(delays.after_input.result, 2 + 3 + 1);
  // A call may take as little as one second.
  EXPECT_EQ(WalkPass(There(2, 3, 1), {.least = true}).after_input.result,
            2 + 1 + 1);
}

TEST(WalkPass, ACallAtItsEndHoldsUpItsResultAlone) {
  const PassTasks sends = {.tasks = {Kernel(2, {kPassInput}), Call(3, 3, {0})},
                           .exits = {1}};
  const PassDelays delays = WalkPass(sends, {});
  EXPECT_EQ(delays.after_kernels.kernels, 2);
  EXPECT_EQ(delays.after_kernels.result, 2 + 3);
}

TEST(WalkPass, OfACallAloneIsNotEmpty) {
  const PassTasks call = {.tasks = {Call(3, 3, {kPassInput})}, .exits = {0}};
  EXPECT_FALSE(WalkPass(call, {}).empty());
  EXPECT_TRUE(WalkPass({.tasks = {}, .exits = {kPassInput}}, {}).empty());
}

TEST(WalkTail, IsWhatTheLastKernelIsFollowedBy) {
  const PassTasks sends = {
      .tasks = {Kernel(7, {kPassInput}), Kernel(2, {0}), Call(3, 3, {1})},
      .exits = {2}};
  const PassMoment tail = WalkTail(sends, {});
  EXPECT_EQ(tail.kernels, 2);
  EXPECT_EQ(tail.result, 2 + 3);
}

// In turns: a0 0-2, b0 2-5, a1 2-5, b1 5-7 (the calls' row is busy), a2 5-6,
// b2 7-9. One after the other they would take 6 and 7.
TEST(WalkPair, CallsOfOneHideBehindKernelsOfTheOther) {
  const PassTasks a = There(2, 3, 1);
  const PassTasks b = There(3, 2, 2);
  const PassTasks* first[] = {&a};
  const PassTasks* second[] = {&b};
  const PairDelays pair = WalkPair(first, second, /*least=*/false);
  EXPECT_EQ(pair.after_kernels.kernels, 9);
  EXPECT_EQ(pair.after_kernels.result, 9);
  EXPECT_EQ(pair.after_first.kernels, 9);
  // The first has long been there: b0 0-3, b1 3-5, a2 3-4, b2 5-7.
  EXPECT_EQ(pair.after_second.kernels, 7);
}

// Of unequal lengths: the one that is further behind goes next. Four tasks
// against two: b starts its second after two of a.
TEST(WalkPair, TakesTurnsByWhatIsLeft) {
  const PassTasks a = {.tasks = {Kernel(1, {kPassInput}), Kernel(1, {0}),
                                 Kernel(1, {1}), Kernel(1, {2})},
                       .exits = {3}};
  const PassTasks b = {.tasks = {Call(5, 5, {kPassInput}), Kernel(1, {0})},
                       .exits = {1}};
  const PassTasks* first[] = {&a};
  const PassTasks* second[] = {&b};
  // a0 0-1 | call 0-5 | a1 1-2, a2 2-3 | b1 5-6 | a3 6-7.
  const PairDelays pair = WalkPair(first, second, /*least=*/false);
  EXPECT_EQ(pair.after_kernels.kernels, 4 + 1);  // the call is over by then
  EXPECT_EQ(pair.after_second.kernels, 5 + 1 + 1);
}

// Units without tasks are passed over.
TEST(WalkPair, GoesFromUnitToUnit) {
  const PassTasks a = There(2, 3, 1);
  const PassTasks none;
  const PassTasks* first[] = {&none, &a, &none, &a};
  const PassTasks* second[] = {&none};
  const PairDelays pair = WalkPair(first, second, /*least=*/false);
  EXPECT_EQ(pair.after_kernels.kernels, 2 * (2 + 3 + 1));
}

}  // namespace
}  // namespace orrery
