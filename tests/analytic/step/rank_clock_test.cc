#include "analytic/step/rank_clock.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace orrery {
namespace {

using What = TapeItem::What;

ParallelLayout LayoutOf(int tensor, int pipeline, int data) {
  ParallelLayout layout;
  layout.degrees.tensor = tensor;
  layout.degrees.pipeline = pipeline;
  layout.degrees.data = data;
  layout.stages =
      StageLayout(PipelineSchedule::kOneForwardOneBackward, pipeline, 1);
  layout.sharding_group = data;
  return layout;
}

// Ranks of a layout with what each has to do.
struct Ranks {
  explicit Ranks(ParallelLayout of)
      : layout(std::move(of)), placement(layout), classes(layout, placement) {}
  RankClock Clock(const RankTapes& tapes, CallPrice price,
                  RankClock::Ranks which = RankClock::kEvery) const {
    return RankClock(placement, classes, tapes, {}, price, which);
  }
  ParallelLayout layout;
  Placement placement;
  RankClasses classes;
};

TapeItem Work(double seconds) {
  return {.what = What::kWork, .seconds = seconds};
}
TapeItem Call(int index) { return {.what = What::kCall, .index = index}; }
TapeItem Reduce(int index) { return {.what = What::kReduce, .index = index}; }

RankTapes OneStage(std::vector<TapeCall> calls, std::vector<TapeItem> tape) {
  return {.calls = std::move(calls),
          .of_rank = {std::move(tape)},
          .receives = {0},
          .transfer = Bytes(0)};
}

constexpr TapeCall kTensorSum{.family = GroupFamily::kTensor,
                              .bytes = Bytes(1)};
constexpr TapeCall kDataSum{.family = GroupFamily::kData, .bytes = Bytes(1)};

// Tensor groups {0, 1} and {2, 3}, data groups {0, 2} and {1, 3}.
double SlowSecondGroup(const TapeCall& call, absl::Span<const int> chips) {
  if (call.family == GroupFamily::kTensor) return chips[0] == 2 ? 5 : 1;
  return chips[0] == 1 ? 4 : 1;
}

// Work of 10, a tensor call (1 or 5), work of 2, a data call (1, 4):
//   0, 1: 10 + 1 + 2 = 13;  2, 3: 10 + 5 + 2 = 17
//   {0, 2} ends at 17 + 1 = 18, {1, 3} at 17 + 4 = 21.
TEST(RankClock, AGroupHoldsUpThoseThatItsMembersMeetElsewhere) {
  const Ranks ranks(LayoutOf(2, 1, 2));
  const RankTapes tapes =
      OneStage({kTensorSum, kDataSum}, {Work(10), Call(0), Work(2), Call(1)});
  RankClock clock = ranks.Clock(tapes, SlowSecondGroup);
  EXPECT_FALSE(clock.groups_are_alike());
  EXPECT_DOUBLE_EQ(clock.Run(), 21);
}

// The slowest of both kinds everywhere would be 10 + 5 + 2 + 4 = 21 as well;
// with the slow ones on different ranks it is not:
//   {0, 1}: 11; {2, 3}: 15, then data first: {0, 2} 1, {1, 3} 4.
//   Work 10, data: 0, 2 at 11, 1, 3 at 14; tensor: {0, 1} 14 + 1, {2, 3} 14
//   + 5.
TEST(RankClock, TheOrderOfCallsDecidesWhoIsWaitedFor) {
  const Ranks ranks(LayoutOf(2, 1, 2));
  const RankTapes tapes = OneStage(
      {kTensorSum, kDataSum},
      {Work(10), Call(1), Call(0), Work(1), {.what = What::kForgetCalls}});
  RankClock clock = ranks.Clock(tapes, SlowSecondGroup);
  EXPECT_DOUBLE_EQ(clock.Run(), 20);
}

// Reductions follow one another beside the work: 2 to 3 and 6 to 10 of ranks 1
// and 3, and the wait for them; price 4.
//   work 2, reduce (2..6), work 4 (2..6), reduce (6..10), wait, work 1: 11
TEST(RankClock, ReductionsRunBesideWork) {
  const Ranks ranks(LayoutOf(1, 1, 2));
  const RankTapes tapes =
      OneStage({kDataSum}, {Work(2),
                            Reduce(0),
                            Work(4),
                            Reduce(0),
                            {.what = What::kAwaitReductions},
                            Work(1)});
  RankClock clock = ranks.Clock(
      tapes, [](const TapeCall&, absl::Span<const int>) { return 4.0; });
  EXPECT_TRUE(clock.groups_are_alike());
  EXPECT_DOUBLE_EQ(clock.Run(), 11);
}

// What follows the last work but for calls: the call of 3 ends at 5, work of 4
// that waits for none of it at 6.
TEST(RankClock, ForgetsCallsWhereNothingWaitsForThem) {
  const Ranks ranks(LayoutOf(2, 1, 1));
  const RankTapes tapes = OneStage(
      {kTensorSum}, {Work(2), Call(0), {.what = What::kForgetCalls}, Work(4)});
  RankClock clock = ranks.Clock(
      tapes, [](const TapeCall&, absl::Span<const int>) { return 3.0; });
  EXPECT_DOUBLE_EQ(clock.Run(), 6);
}

// The host starts 2 + 2 while the chip works 1: the second work begins at 4;
// one that waits for the chip begins 2 after its end.
TEST(RankClock, TheHostIsAheadUnlessItWaits) {
  const Ranks ranks(LayoutOf(1, 1, 1));
  const TapeItem host{.what = What::kHost, .seconds = 2};
  TapeItem waits = host;
  waits.flag = true;
  const auto none = [](const TapeCall&, absl::Span<const int>) { return 0.0; };
  const RankTapes ahead = OneStage({}, {host, Work(1), host, Work(1)});
  EXPECT_DOUBLE_EQ(ranks.Clock(ahead, none).Run(), 5);
  const RankTapes behind = OneStage({}, {host, Work(1), waits, Work(1)});
  EXPECT_DOUBLE_EQ(ranks.Clock(behind, none).Run(), 6);
}

// Two stages, two replicas whose transfers take 1 and 3: passes of 2 and 2.
//   replica 0: 2 + 1 + 2 = 5;  replica 1: 2 + 3 + 2 = 7
TEST(RankClock, EveryRankSendsToItsOwnPeer) {
  const Ranks ranks(LayoutOf(1, 2, 2));
  RankTapes tapes;
  tapes.of_rank = {{Work(2), {.what = What::kSend, .index = 0, .peer = 1}},
                   {{.what = What::kReceive, .index = 0}, Work(2)}};
  tapes.receives = {0, 1};
  RankClock clock =
      ranks.Clock(tapes, [](const TapeCall&, absl::Span<const int> chips) {
        return chips[0] == 0 ? 1.0 : 3.0;
      });
  EXPECT_FALSE(clock.groups_are_alike());
  EXPECT_DOUBLE_EQ(clock.Run(), 7);
}

// Two experts on two ranks of an expert group; the first has three times the
// tokens of the second: classes 0 and 1, of which two data replicas have each.
//   class 0: 6 + call 1 + 1 = 8;  class 1: 2, waits until 6, + 1 + 1 = 8
// With the call first: class 0 is at 1 + 6 + 1 = 8, class 1 at 1 + 2 + 1 = 4.
TEST(RankClock, OneRankOfEachClassTellsOfAll) {
  ParallelLayout layout = LayoutOf(1, 1, 4);
  layout.degrees.expert = 2;
  layout.routing = ExpertRouting({3, 1});
  const Ranks ranks(layout);
  ASSERT_EQ(ranks.classes.count(), 2);
  constexpr TapeCall kTokens{.family = GroupFamily::kExpert, .bytes = Bytes(1)};
  const auto price = [](const TapeCall&, absl::Span<const int>) { return 1.0; };
  RankTapes tapes{
      .calls = {kTokens, kDataSum},
      .of_rank = {{Work(6), Call(0), Work(1)}, {Work(2), Call(0), Work(1)}},
      .receives = {0},
      .transfer = Bytes(0)};
  for (const auto which : {RankClock::kEvery, RankClock::kOneOfEach}) {
    RankClock clock = ranks.Clock(tapes, price, which);
    EXPECT_EQ(clock.CountItems(), which == RankClock::kEvery ? 12 : 6);
    EXPECT_TRUE(clock.groups_are_alike());
    EXPECT_DOUBLE_EQ(clock.Run(), 8);
  }
  // The light one is done first, and its reductions wait for the others.
  tapes.of_rank = {{Call(0), Work(6), Work(1)},
                   {Call(0), Work(2), Work(1), Reduce(1)}};
  tapes.of_rank[0].push_back(Reduce(1));
  for (const auto which : {RankClock::kEvery, RankClock::kOneOfEach}) {
    EXPECT_DOUBLE_EQ(ranks.Clock(tapes, price, which).Run(), 9);
  }
}

}  // namespace
}  // namespace orrery
