#include "analytic/step/memory_walk.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace orrery {
namespace {

WalkPeak Walk(PipelineSchedule schedule, int ranks, int micro_batches, int rank,
              const std::vector<UnitMemory>& units) {
  const int virtual_stages = schedule == PipelineSchedule::kZeroBubbleV ? 2 : 1;
  const PipelineOrders orders =
      MakeOrders(schedule, ranks, virtual_stages, micro_batches);
  const std::vector<std::vector<UnitMemory>> pieces(
      static_cast<size_t>(orders.layout.pieces()), units);
  return WalkMemory(orders, rank,
                    RepeatsInPairs(orders.of_rank[static_cast<size_t>(rank)]),
                    pieces);
}

// Activations in flight, as the papers count them: m for GPipe, p - r for 1F1B,
// p for ZB-H1, p + 1 for DualPipe.
TEST(MemoryWalk, HoldsWhatThePapersSay) {
  const std::vector<UnitMemory> units = {{.kept = 100}};
  EXPECT_EQ(Walk(PipelineSchedule::kGPipe, 4, 8, 2, units).total, 800);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(
        Walk(PipelineSchedule::kOneForwardOneBackward, 4, 8, rank, units).total,
        100 * (4 - rank));
    EXPECT_EQ(Walk(PipelineSchedule::kZeroBubbleH1, 4, 8, rank, units).total,
              400);
  }
  EXPECT_EQ(Walk(PipelineSchedule::kDualPipe, 4, 8, 1, units).total, 500);
}

// Two units keep 10 each and compute 50 and 30 again. The backward pass begins
// with the last: 20 + 30, then 10 + 50.
TEST(MemoryWalk, WhatIsComputedAgainComesUnitByUnit) {
  const std::vector<UnitMemory> units = {{.kept = 10, .recomputed = 50},
                                         {.kept = 10, .recomputed = 30}};
  const WalkPeak peak =
      Walk(PipelineSchedule::kOneForwardOneBackward, 1, 3, 0, units);
  EXPECT_EQ(peak.total, 60);
  EXPECT_EQ(peak.activations, 60);
}

// Of two micro-batches the gradients of both units stay: 2 x 1000 beside the
// activations of the second, all of which live when its backward pass begins.
TEST(MemoryWalk, SummedGradientsStayToTheLastMicroBatch) {
  const std::vector<UnitMemory> units = {{.kept = 10, .unreduced = 1000},
                                         {.kept = 10, .unreduced = 1000}};
  const WalkPeak peak =
      Walk(PipelineSchedule::kOneForwardOneBackward, 1, 2, 0, units);
  EXPECT_EQ(peak.total, 2020);
  EXPECT_EQ(peak.activations, 20);
}

// Of one micro-batch of three units a gradient goes when it is reduced. If that
// takes half a pass, two live at once at no time; if two passes, the first is
// there still when the third comes: 3 x 1000 + the 10 of the last unit.
TEST(MemoryWalk, AGradientGoesWhenItIsReduced) {
  const auto units = [](double bucket_s) {
    return std::vector<UnitMemory>(
        3,
        {.kept = 10, .unreduced = 1000, .backward_s = 1, .bucket_s = bucket_s});
  };
  const auto schedule = PipelineSchedule::kOneForwardOneBackward;
  // The second begins when the first is still being reduced, 10 + 10 + 2000.
  EXPECT_EQ(Walk(schedule, 1, 1, 0, units(0.5)).total, 2020);
  EXPECT_EQ(Walk(schedule, 1, 1, 0, units(2)).total, 3010);
}

// The same with a wait of 1.5 for weights before each unit: the first gradient
// is complete at 2.5 and reduced from then to 4.5. The second unit begins at 4,
// with 20 + 2000; the third at 6.5, when the first is gone and the second, from
// 5 to 7, is not.
TEST(MemoryWalk, GradientsAreReducedWhileWeightsAreWaitedFor) {
  const std::vector<UnitMemory> units(3, {.kept = 10,
                                          .unreduced = 1000,
                                          .backward_s = 1,
                                          .gather_s = 1.5,
                                          .bucket_s = 2});
  EXPECT_EQ(
      Walk(PipelineSchedule::kOneForwardOneBackward, 1, 1, 0, units).total,
      2020);
}

// Turns that repeat are counted once, and passes that neither bring nor take
// state as a whole: what comes is that of a walk from unit to unit.
TEST(MemoryWalk, SkipsNothingThatCounts) {
  struct Shape {
    PipelineSchedule schedule;
    int virtual_stages;
  };
  Rng rng(5, "unit memory");
  for (const Shape& shape : {Shape{PipelineSchedule::kGPipe, 1},
                             Shape{PipelineSchedule::kOneForwardOneBackward, 1},
                             Shape{PipelineSchedule::kInterleaved, 3},
                             Shape{PipelineSchedule::kZeroBubbleH1, 1},
                             Shape{PipelineSchedule::kZeroBubbleV, 2},
                             Shape{PipelineSchedule::kDualPipe, 1}}) {
    for (const int micro_batches : {8, 16, 24}) {
      const PipelineOrders orders =
          MakeOrders(shape.schedule, 4, shape.virtual_stages, micro_batches);
      std::vector<std::vector<UnitMemory>> pieces(
          static_cast<size_t>(orders.layout.pieces()));
      for (std::vector<UnitMemory>& units : pieces) {
        units.resize(1 + rng.Below(4));
        for (UnitMemory& unit : units) {
          unit.kept = static_cast<int64_t>(1000 * rng.Below(9));
          unit.recomputed = static_cast<int64_t>(1000 * rng.Below(5));
          unit.forward_tasks = static_cast<int>(1 + rng.Below(9));
          unit.backward_tasks = static_cast<int>(1 + rng.Below(20));
        }
      }
      // A byte of state has every pass that may bring or take it looked at.
      std::vector<std::vector<UnitMemory>> with_state = pieces;
      for (std::vector<UnitMemory>& units : with_state) units[0].gathered = 1;
      for (int rank = 0; rank < 4; ++rank) {
        SCOPED_TRACE(rank);
        const auto& order = orders.of_rank[static_cast<size_t>(rank)];
        const std::vector<uint32_t> none(order.size(), 0);
        const WalkPeak got =
            WalkMemory(orders, rank, RepeatsInPairs(order), pieces);
        const WalkPeak want = WalkMemory(orders, rank, none, pieces);
        EXPECT_EQ(got.total, want.total);
        EXPECT_EQ(got.activations, want.activations);
        const WalkPeak state =
            WalkMemory(orders, rank, RepeatsInPairs(order), with_state);
        EXPECT_EQ(state.activations, want.activations);
        EXPECT_GE(state.total, want.total);
        EXPECT_LE(state.total,
                  want.total + static_cast<int64_t>(pieces.size()));
      }
    }
  }
}

}  // namespace
}  // namespace orrery
