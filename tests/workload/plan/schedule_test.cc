#include "workload/plan/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/workload/lowering/unit_time.h"

namespace orrery {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<int> InFlight(const PipelineOrders& orders) {
  std::vector<int> peaks;
  for (const auto& order : orders.of_rank) peaks.push_back(PeakInFlight(order));
  return peaks;
}
std::vector<int> Countdown(int from, int step, int count) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) values.push_back(from - step * i);
  return values;
}
int Makespan(const PipelineOrders& orders, UnitTimes times = {}) {
  return RunUnitTimes(orders, times).makespan;
}

// Published numbers: F = B = W = 1. Work of a rank is 3 m.

// 3 x 8 + (p - 1)(F + B + W) = 24 + 9.
TEST(Schedule, GPipeHoldsEveryMicroBatch) {
  const auto orders = MakeOrders(PipelineSchedule::kGPipe, 4, 1, 8);
  EXPECT_EQ(Makespan(orders), 33);
  EXPECT_THAT(InFlight(orders), ElementsAre(8, 8, 8, 8));
}

TEST(Schedule, OneForwardOneBackwardHoldsFewerTowardsTheEnd) {
  const auto small =
      MakeOrders(PipelineSchedule::kOneForwardOneBackward, 4, 1, 8);
  EXPECT_EQ(Makespan(small), 33);
  EXPECT_THAT(InFlight(small), ElementsAre(4, 3, 2, 1));
  // 3 x 32 + 7 x 3.
  const auto large =
      MakeOrders(PipelineSchedule::kOneForwardOneBackward, 8, 1, 32);
  EXPECT_EQ(Makespan(large), 117);
  EXPECT_EQ(InFlight(large), Countdown(8, 1, 8));
}

// Pieces take 1/v; times below are in units of 1/v, so that they stay whole.
TEST(Schedule, InterleavingDividesTheBubble) {
  // 2 x 28.5
  const auto two = MakeOrders(PipelineSchedule::kInterleaved, 4, 2, 8);
  EXPECT_EQ(Makespan(two), 57);
  EXPECT_THAT(InFlight(two), ElementsAre(11, 9, 7, 5));
  // 4 x 26.25
  const auto four = MakeOrders(PipelineSchedule::kInterleaved, 4, 4, 8);
  EXPECT_EQ(Makespan(four), 105);
  EXPECT_THAT(InFlight(four), ElementsAre(19, 17, 15, 13));
  // 3 x 199
  const auto three = MakeOrders(PipelineSchedule::kInterleaved, 8, 3, 64);
  EXPECT_EQ(Makespan(three), 597);
  EXPECT_EQ(InFlight(three), Countdown(31, 2, 8));
}

TEST(Schedule, ZeroBubbleH1KeepsTheMemoryOfTheFirstRank) {
  const auto small = MakeOrders(PipelineSchedule::kZeroBubbleH1, 4, 1, 8);
  EXPECT_EQ(Makespan(small), 27);
  EXPECT_THAT(InFlight(small), Each(4));
  const auto large = MakeOrders(PipelineSchedule::kZeroBubbleH1, 8, 1, 32);
  EXPECT_EQ(Makespan(large), 103);
  EXPECT_THAT(InFlight(large), Each(8));
}

// p = 4, m = 8: work 24, bubble (2 - 1)(FB + 2 - 3) = 2 at FB = 3. With FB
// below F + B + W each of the pairs saves: times in halves for FB = 2.5.
TEST(Schedule, DualPipeMatchesItsPublishedRows) {
  struct Row {
    int ranks, micro_batches, makespan, makespan_overlapped, in_flight;
  };
  constexpr Row kRows[] = {
      {4, 8, 26, 24, 5}, {8, 20, 66, 59, 9}, {16, 40, 134, 119, 17}};
  for (const Row& row : kRows) {
    const auto orders = MakeOrders(PipelineSchedule::kDualPipe, row.ranks, 1,
                                   row.micro_batches);
    EXPECT_EQ(Makespan(orders), row.makespan) << row.ranks;
    EXPECT_EQ(Makespan(orders, {2, 2, 2, 5}), 2 * row.makespan_overlapped);
    EXPECT_THAT(InFlight(orders), Each(row.in_flight));
  }
}

// Closed forms, over many sizes and times.

constexpr UnitTimes kTimes[] = {{1, 1, 1}, {2, 3, 2}, {5, 7, 4}, {3, 3, 3}};

TEST(Schedule, BubblesEqualTheirClosedForms) {
  for (const UnitTimes t : kTimes) {
    const int f = t.forward, b = t.input_gradient, w = t.weight_gradient;
    for (int p = 1; p <= 9; ++p) {
      for (int m = 1; m <= 4 * p; ++m) {
        const int work = m * (f + b + w);
        EXPECT_EQ(Makespan(MakeOrders(PipelineSchedule::kGPipe, p, 1, m), t),
                  work + (p - 1) * (f + b + w));
        EXPECT_EQ(Makespan(MakeOrders(PipelineSchedule::kOneForwardOneBackward,
                                      p, 1, m),
                           t),
                  work + (p - 1) * (f + b + w));
        if (m >= p) {
          // Made for these times it is at least as good as the one by hand.
          const PassProfile profile{.stages = std::vector<PassProfile::Stage>(
                                        static_cast<size_t>(p), {f, b, w})};
          const int by_hand = work + (p - 1) * (f + b - w);
          const int step = Makespan(
              MakeOrders(PipelineSchedule::kZeroBubbleH1, p, 1, m, profile), t);
          EXPECT_LE(step, by_hand) << p << " " << m;
          EXPECT_GE(step, work + (p - 1) * f) << p << " " << m;
          if (f == b && b == w) {
            EXPECT_EQ(step, by_hand) << p << " " << m;
          }
        }
      }
    }
  }
}

TEST(Schedule, InterleavedBubbleEqualsItsClosedForm) {
  for (const UnitTimes t : kTimes) {
    const int full = t.forward + t.input_gradient + t.weight_gradient;
    for (int p = 2; p <= 6; ++p) {
      for (int v = 2; v <= 4; ++v) {
        for (int m = p; m <= 4 * p; m += p) {
          const auto orders =
              MakeOrders(PipelineSchedule::kInterleaved, p, v, m);
          EXPECT_EQ(Makespan(orders, t), v * m * full + (p - 1) * full);
          for (int r = 0; r < p; ++r) {
            EXPECT_EQ(PeakInFlight(orders.of_rank[static_cast<size_t>(r)]),
                      std::min(m * v, 2 * (p - r - 1) + (v - 1) * p + 1));
          }
        }
      }
    }
  }
}

// At F = B = W = 1 a piece of half a stage takes 3 units in all, a rank has
// 6 m of them, and the last rank cannot start before p - 1.
TEST(Schedule, ZeroBubbleVLosesOnlyTheStagger) {
  for (int p = 1; p <= 10; ++p) {
    for (const int m : {2 * p, 2 * p + 1, 3 * p + 2, 5 * p}) {
      const auto orders = MakeOrders(PipelineSchedule::kZeroBubbleV, p, 2, m);
      const UnitRun run = RunUnitTimes(orders, {});
      EXPECT_EQ(run.makespan, 6 * m + p - 1) << p << " " << m;
      EXPECT_THAT(InFlight(orders), Each(2 * p));
      // No rank idles between its first and its last task.
      for (size_t rank = 0; rank < static_cast<size_t>(p); ++rank) {
        EXPECT_EQ(run.last_end[rank] - run.first_start[rank], 6 * m)
            << p << " " << m << " rank " << rank;
        EXPECT_EQ(run.first_start[rank], static_cast<int>(rank));
      }
    }
  }
}

// Bubble of the rank in the middle of the closed form: (p/2 - 1)(FB + B_full -
// 3W), with FB = F + B + W when nothing is gained by the overlap.
TEST(Schedule, DualPipeBubbleEqualsItsClosedForm) {
  for (int p = 2; p <= 12; p += 2) {
    for (int m = 2 * p; m <= 4 * p; m += 2) {
      const auto orders = MakeOrders(PipelineSchedule::kDualPipe, p, 1, m);
      const UnitRun run = RunUnitTimes(orders, {1, 1, 1, 3});
      EXPECT_EQ(run.makespan, 3 * m + (p / 2 - 1) * (3 + 2 - 3));
      EXPECT_THAT(InFlight(orders), Each(p + 1));
    }
  }
}

// What every order must be, whatever the schedule: each stage of each
// micro-batch forward once and backward once, weight gradients included.
TEST(Schedule, EveryStageRunsEveryMicroBatchOnce) {
  struct Case {
    PipelineSchedule schedule;
    int p, v, m;
  };
  constexpr Case kCases[] = {
      {PipelineSchedule::kGPipe, 3, 1, 5},
      {PipelineSchedule::kOneForwardOneBackward, 5, 1, 3},
      {PipelineSchedule::kInterleaved, 4, 3, 8},
      {PipelineSchedule::kZeroBubbleH1, 4, 1, 2},
      {PipelineSchedule::kZeroBubbleV, 4, 2, 3},
      {PipelineSchedule::kDualPipe, 6, 1, 14}};
  for (const Case& c : kCases) {
    const auto orders = MakeOrders(c.schedule, c.p, c.v, c.m);
    std::multiset<std::pair<int, int>> forward, input, weight;
    for (int rank = 0; rank < c.p; ++rank) {
      for (const auto& a : orders.of_rank[static_cast<size_t>(rank)]) {
        const std::pair<int, int> key(orders.layout.StageOf(rank, a.piece),
                                      a.micro_batch);
        const bool both = a.pass == PipelinePass::kBackward;
        if (a.pass == PipelinePass::kForward) forward.insert(key);
        if (both || a.pass == PipelinePass::kInputGradient) input.insert(key);
        if (both || a.pass == PipelinePass::kWeightGradient) weight.insert(key);
      }
    }
    const auto total = static_cast<size_t>(c.p * c.v * c.m);
    for (const auto& keys : {forward, input, weight}) {
      EXPECT_EQ(keys.size(), total);
      EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), total);
    }
  }
}

TEST(StageLayout, PlaceAndStageAreInverse) {
  for (const auto& [schedule, v] :
       {std::pair(PipelineSchedule::kOneForwardOneBackward, 1),
        std::pair(PipelineSchedule::kInterleaved, 3),
        std::pair(PipelineSchedule::kZeroBubbleV, 2),
        std::pair(PipelineSchedule::kDualPipe, 1)}) {
    const StageLayout layout(schedule, 4, v);
    for (int rank = 0; rank < 4; ++rank) {
      for (int piece = 0; piece < layout.pieces(); ++piece) {
        EXPECT_EQ(layout.PlaceOf(layout.StageOf(rank, piece), piece == 1),
                  (StageLayout::Place{rank, piece}));
      }
    }
  }
}

}  // namespace
}  // namespace orrery
