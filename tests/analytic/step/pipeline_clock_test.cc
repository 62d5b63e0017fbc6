#include "analytic/step/pipeline_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "analytic/step/known_pipeline.h"
#include "base/random.h"

namespace orrery {
namespace {

// F, B and W of every stage, and free hops unless told.
std::vector<RankEnd> Ends(const PipelineOrders& orders, double f, double b,
                          double w, double hop = 0) {
  const std::vector<StageTimes> kinds = {StageTimes::Serial(f, b, w)};
  const std::vector<uint16_t> all(static_cast<size_t>(orders.layout.stages()));
  const std::vector<double> hops(static_cast<size_t>(orders.layout.ranks()),
                                 hop);
  return PipelineClock(orders).Run(
      {.kinds = kinds, .kind_of_stage = all, .hops = hops});
}
double Makespan(const std::vector<RankEnd>& ends) {
  double most = 0;
  for (const RankEnd& end : ends) most = std::max(most, end.passes);
  return most;
}

// The bubbles of the papers: (p - 1)(F + B + W) for GPipe and 1F1B, 1/v of it
// interleaved, (p - 1)(F + B - W) for ZB-H1, (p/2 - 1)(FB + B' - 3 W) for
// DualPipe, where B' = B + W and a pair takes FB = F + B'.
TEST(PipelineClock, GivesTheBubblesOfThePapers) {
  const double f = 5, b = 7, w = 4;
  for (int p = 2; p <= 8; p += 2) {
    const int m = 4 * p;
    const double work = m * (f + b + w);
    EXPECT_DOUBLE_EQ(
        Makespan(Ends(MakeOrders(PipelineSchedule::kGPipe, p, 1, m), f, b, w)),
        work + (p - 1) * (f + b + w));
    EXPECT_DOUBLE_EQ(
        Makespan(
            Ends(MakeOrders(PipelineSchedule::kOneForwardOneBackward, p, 1, m),
                 f, b, w)),
        work + (p - 1) * (f + b + w));
    // Pieces of half the time.
    EXPECT_DOUBLE_EQ(
        Makespan(Ends(MakeOrders(PipelineSchedule::kInterleaved, p, 2, m),
                      f / 2, b / 2, w / 2)),
        work + (p - 1) * (f + b + w) / 2);
    EXPECT_DOUBLE_EQ(
        Makespan(Ends(MakeOrders(PipelineSchedule::kZeroBubbleH1, p, 1, m), f,
                      b, w)),
        work + (p - 1) * (f + b - w));
    EXPECT_DOUBLE_EQ(
        Makespan(
            Ends(MakeOrders(PipelineSchedule::kDualPipe, p, 1, m), 1, 1, 1)),
        3 * m + (p / 2.0 - 1) * (3 + 2 - 3));
  }
}

// A micro-batch crosses p - 1 boundaries and comes back. In steady state a rank
// runs p - r ahead, and hops as long as a pass are not hidden: with p = 2 and
// one ahead, every turn of rank 0 waits for two hops.
TEST(PipelineClock, HopsDelayTheFirstAndTheLastMicroBatch) {
  const auto one =
      MakeOrders(PipelineSchedule::kOneForwardOneBackward, 4, 1, 1);
  // 4 x (1 + 2) of work in a row, 2 x 3 hops of 0.5.
  EXPECT_DOUBLE_EQ(Makespan(Ends(one, 1, 1, 1, 0.5)), 12 + 3);
  const auto gpipe = MakeOrders(PipelineSchedule::kGPipe, 4, 1, 8);
  // 3 x 8 + 3 x 3, and the hops of one round trip.
  EXPECT_DOUBLE_EQ(Makespan(Ends(gpipe, 1, 1, 1, 0.25)), 33 + 6 * 0.25);
}

// Two ranks, one micro-batch ahead, sends waited for. Rank 0: F0 ends at 1, its
// send at 2; F1 from 2 to 3, sent at 4. Rank 1: F0 2 to 3, B0 3 to 5, sent at
// 6; F1 from 6 to 7, B1 7 to 9, sent at 10. Rank 0: B0 from 6 to 8, B1 from 10
// to 12.
TEST(PipelineClock, ASendThatIsWaitedForDelaysItsSender) {
  const auto orders =
      MakeOrders(PipelineSchedule::kOneForwardOneBackward, 2, 1, 2);
  const std::vector<StageTimes> kinds = {StageTimes::Serial(1, 1, 1)};
  const std::vector<uint16_t> all(2);
  const std::vector<double> hops = {1, 1};
  const auto ends = PipelineClock(orders).Run({.kinds = kinds,
                                               .kind_of_stage = all,
                                               .hops = hops,
                                               .sends_are_waited_for = true});
  EXPECT_DOUBLE_EQ(ends[0].passes, 12);
  EXPECT_DOUBLE_EQ(ends[1].passes, 9);
}

// One rank of two has twice the work: 2 x 3 per micro-batch sets the pace, and
// the other's forward and backward of one micro-batch fill and drain.
TEST(PipelineClock, TheSlowestStageSetsThePace) {
  const auto orders =
      MakeOrders(PipelineSchedule::kOneForwardOneBackward, 2, 1, 10);
  const std::vector<StageTimes> kinds = {StageTimes::Serial(1, 1, 1),
                                         StageTimes::Serial(2, 2, 2)};
  const std::vector<uint16_t> both = {0, 1};
  const std::vector<double> hops = {0, 0};
  const auto ends = PipelineClock(orders).Run(
      {.kinds = kinds, .kind_of_stage = both, .hops = hops});
  EXPECT_DOUBLE_EQ(ends[0].passes, 10 * 6 + 3);
}

// One rank, two micro-batches of 1 + 2; a reduction of 5 after each backward
// pass, which the next one waits for, and one of 1 within; 7 more after the
// last; 10 before the first pass: 10 + (3 + 1 + 5) + (3 + 1) passes, and 5 + 7
// after them.
TEST(PipelineClock, ReductionsAmongPassesAreWaitedFor) {
  const auto orders =
      MakeOrders(PipelineSchedule::kOneForwardOneBackward, 1, 1, 2);
  StageTimes times = StageTimes::Serial(1, 1, 1 + 1);
  times.first_forward = 10 + 1;
  times.reduce_backward = {
      .after_row = 5, .after_kernels = 3 + 5, .after_input = 3 + 5};
  times.reduce_last_backward = {
      .after_row = 12, .after_kernels = 3 + 12, .after_input = 3 + 12};
  const std::vector<uint16_t> one = {0};
  const std::vector<double> hops = {0};
  const auto ends =
      PipelineClock(orders).Run({.kinds = {&times, 1},
                                 .kind_of_stage = one,
                                 .hops = hops,
                                 .reductions_are_waited_for = true});
  EXPECT_DOUBLE_EQ(ends[0].passes, 10 + 9 + 4);
  EXPECT_DOUBLE_EQ(ends[0].reductions, 10 + 9 + 4 + 12);
}

// Two micro-batches through two ranks. Kernels of a forward pass take 2, and
// its result comes 3 later; the next pass begins without it. Rank 0 forward: 0
// to 2 and 2 to 4, results at 5 and 7. Rank 1: forward from 5 to 7, result at
// 10, backward of 4 from 10 to 14; forward from 14 to 16, result at 19,
// backward to
// 23. Rank 0: backward from 14 to 18 and from 23 to 27.
TEST(PipelineClock, AResultMayComeAfterTheNextPassBegins) {
  const auto orders =
      MakeOrders(PipelineSchedule::kOneForwardOneBackward, 2, 1, 2);
  StageTimes times = StageTimes::Serial(2, 2, 2);
  times.forward.after_kernels = {.kernels = 2, .result = 5};
  times.forward.after_input = {.kernels = 2, .result = 5};
  times.first_forward = times.forward;
  const std::vector<uint16_t> all = {0, 0};
  const std::vector<double> hops = {0, 0};
  const auto ends = PipelineClock(orders).Run(
      {.kinds = {&times, 1}, .kind_of_stage = all, .hops = hops});
  EXPECT_DOUBLE_EQ(ends[1].passes, 23);
  EXPECT_DOUBLE_EQ(ends[0].passes, 27);
}

// Its host needs 5 for a pass of 2 and runs ahead while the chip works: two
// micro-batches of 2 + 4 on the chip, 5 + 1 on the host. The first forward pass
// ends at 5, its backward at 9; the host has started the second forward at 11.
TEST(PipelineClock, AHostRunsAheadOfTheChip) {
  const auto orders =
      MakeOrders(PipelineSchedule::kOneForwardOneBackward, 1, 1, 2);
  StageTimes times = StageTimes::Serial(2, 2, 2);
  // The last kernel of either takes a second.
  times.forward_launch = {.all = 5, .after_host = {5 + 1, 5 + 1}};
  times.backward_launch = {.all = 3, .after_host = {3 + 1, 3 + 1}};
  const std::vector<uint16_t> one = {0};
  const std::vector<double> hops = {0};
  const auto ends = PipelineClock(orders).Run(
      {.kinds = {&times, 1}, .kind_of_stage = one, .hops = hops});
  // The host has started them at 5, 8, 13 and 16: forward ends at 6, backward
  // at 10, forward at 14, and the last backward pass takes four seconds more.
  EXPECT_DOUBLE_EQ(ends[0].passes, 14 + 4);
}

// Whatever was asked before, in whatever order: the answer of a clock.
TEST(KnownPipeline, AnswersAsIfItRememberedNothing) {
  KnownPipeline known(
      MakeOrders(PipelineSchedule::kOneForwardOneBackward, 4, 1, 6));
  const PipelineClock clock(known.orders());
  Rng rng(3, "stage times");
  std::vector<std::vector<StageTimes>> asked;
  for (int i = 0; i < 2000; ++i) {
    if (asked.empty() || rng.Below(2) == 0) {
      std::vector<StageTimes>& stages = asked.emplace_back(4);
      for (StageTimes& stage : stages) {
        stage = StageTimes::Serial(static_cast<double>(1 + rng.Below(9)),
                                   static_cast<double>(1 + rng.Below(9)),
                                   static_cast<double>(rng.Below(9)));
        const auto row = static_cast<double>(rng.Below(30));
        stage.reduce_last_backward = {
            .after_row = row, .after_kernels = row, .after_input = row};
      }
    }
    const std::vector<StageTimes>& stages = asked[rng.Below(asked.size())];
    const std::vector<double> hops(4, static_cast<double>(rng.Below(3)));
    const std::vector<uint16_t> kinds = {0, 1, 2, 3};
    const PipelineTimes times{.kinds = stages,
                              .kind_of_stage = kinds,
                              .hops = hops,
                              .gather = static_cast<double>(rng.Below(2)),
                              .sends_are_waited_for = rng.Below(2) == 0};
    const PipelineEnds& got = known.Ends(times);
    const std::vector<double> none(4, 0);
    PipelineTimes free = times;
    free.hops = none;
    free.gather = 0;
    const auto want = clock.Run(times);
    const auto want_free = clock.Run(free);
    for (size_t rank = 0; rank < want.size(); ++rank) {
      ASSERT_EQ(got.ends[rank].passes, want[rank].passes);
      ASSERT_EQ(got.ends[rank].reductions, want[rank].reductions);
      ASSERT_EQ(got.with_free_hops[rank].passes, want_free[rank].passes);
      ASSERT_EQ(got.with_free_hops[rank].reductions,
                want_free[rank].reductions);
    }
  }
}

}  // namespace
}  // namespace orrery
