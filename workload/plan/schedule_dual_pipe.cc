// DualPipe: micro-batches enter at both ends, and a forward of one direction
// runs interleaved with a backward of the other, so that each hides the other's
// communication (DeepSeek-V3 report, arXiv 2412.19437, section 3.2.1; the
// counts of each phase are those of deepseek-ai/DualPipe).
//
// Rank r holds stage r for micro-batches of the first half (piece 0) and stage
// p - 1 - r for those of the second (piece 1). Seen from its own end, "near"
// micro-batches are those that entered there.
#include <algorithm>
#include <array>
#include <deque>

#include "base/check.h"
#include "workload/plan/schedule.h"

namespace orrery {
namespace {

class DualPipeRank {
 public:
  DualPipeRank(int rank, int ranks, int micro_batches)
      : half_(ranks / 2),
        ranks_(ranks),
        micro_batches_(micro_batches),
        from_end_(std::min(rank, ranks - 1 - rank)),
        near_piece_(rank < half_ ? 0 : 1) {}

  std::vector<PipelineAction> Order() && {
    const int i = from_end_;
    const int outer = half_ - i - 1;  // ranks between this one and the middle
    for (int n = 0; n < 2 * outer; ++n) Forward(kNear);
    for (int n = 0; n < i + 1; ++n) {
      Forward(kNear);
      Forward(kFar);
    }
    for (int n = 0; n < outer; ++n) {
      InputGradient(kFar);
      WeightGradient();
      Forward(kFar);
    }
    for (int n = 0; n < micro_batches_ / 2 - ranks_ + i + 1; ++n) {
      // The middle ranks do not overlap their first pair: the backward has not
      // arrived yet.
      Pair(kNear, kFar, /*overlapped=*/n > 0 || outer > 0);
      Pair(kFar, kNear, /*overlapped=*/true);
    }
    for (int n = 0; n < outer; ++n) {
      Backward(kFar);
      Pair(kFar, kNear, /*overlapped=*/true);
    }
    // Weight gradients of the second half of these are kept for the end.
    bool split = false;
    for (int n = 0; n < i + 1; ++n) {
      const bool turn = n == (i + 1) / 2;
      if (turn && i % 2 == 1) split = true;
      split ? InputGradient(kFar) : Backward(kFar);
      if (turn && i % 2 == 0) split = true;
      split ? InputGradient(kNear) : Backward(kNear);
    }
    for (int n = 0; n < outer; ++n) {
      WeightGradient();
      InputGradient(kNear);
    }
    while (!waiting_.empty()) WeightGradient();
    return std::move(order_);
  }

 private:
  enum Direction { kNear = 0, kFar = 1 };

  void Add(PipelinePass pass, Direction direction, int count,
           bool with_next = false) {
    const int piece = direction == kNear ? near_piece_ : 1 - near_piece_;
    const int first = piece == 0 ? 0 : micro_batches_ / 2;
    order_.push_back(
        {pass, static_cast<int16_t>(piece), first + count, with_next});
  }
  void Forward(Direction direction, bool with_next = false) {
    Add(PipelinePass::kForward, direction, forwards_[direction]++, with_next);
  }
  void Backward(Direction direction) {
    Add(PipelinePass::kBackward, direction, backwards_[direction]++);
  }
  void InputGradient(Direction direction) {
    Add(PipelinePass::kInputGradient, direction, backwards_[direction]++);
    waiting_.push_back(order_.back());
  }
  void WeightGradient() {
    CHECK(!waiting_.empty());
    PipelineAction action = waiting_.front();
    waiting_.pop_front();
    action.pass = PipelinePass::kWeightGradient;
    order_.push_back(action);
  }
  void Pair(Direction forward, Direction backward, bool overlapped) {
    Forward(forward, overlapped);
    Backward(backward);
  }

  int half_;
  int ranks_;
  int micro_batches_;
  int from_end_;
  int near_piece_;
  std::array<int, 2> forwards_{};
  std::array<int, 2> backwards_{};
  std::deque<PipelineAction> waiting_;
  std::vector<PipelineAction> order_;
};

}  // namespace

RankOrders DualPipeOrders(int ranks, int micro_batches) {
  CHECK(ranks % 2 == 0 && micro_batches % 2 == 0 && micro_batches >= 2 * ranks);
  RankOrders orders;
  for (int rank = 0; rank < ranks; ++rank) {
    orders.push_back(DualPipeRank(rank, ranks, micro_batches).Order());
  }
  return orders;
}

}  // namespace orrery
