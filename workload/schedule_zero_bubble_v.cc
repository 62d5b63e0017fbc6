// ZB-V: two pieces per rank in the shape of a V, so that the last stage lies
// beside the first and backward passes can begin early.
//
// The paper gives the schedule as the result of a search. Ours is the order
// that a work-conserving pipeline would choose by itself when forward, input
// gradient and weight gradient take one unit each: whenever a rank is free it
// takes, of what could run, the forward of the second piece, the forward of the
// first, the input gradient of the first, of the second, then a weight
// gradient, and it never holds more than 2 x ranks activations of half-size
// pieces. For micro_batches >= 2 x ranks that takes 6 m + p - 1 units, which no
// schedule can beat: rank p - 1 starts after p - 1 units and never waits.
#include <array>
#include <optional>

#include "base/check.h"
#include "workload/schedule.h"

namespace orrery {
namespace {

constexpr int kPieces = 2;
constexpr int kPasses = 3;  // forward, input gradient, weight gradient

class UnitTimePipeline {
 public:
  UnitTimePipeline(int ranks, int micro_batches)
      : layout_(PipelineSchedule::kZeroBubbleV, ranks, kPieces),
        ranks_(ranks),
        micro_batches_(micro_batches),
        done_(static_cast<size_t>(ranks)) {}

  RankOrders Run() {
    RankOrders orders(static_cast<size_t>(ranks_));
    int left = ranks_ * micro_batches_ * kPieces * kPasses;
    while (left > 0) {
      // What all ranks choose in this unit depends on earlier units only.
      const std::vector<Counts> before = done_;
      bool progress = false;
      for (int rank = 0; rank < ranks_; ++rank) {
        const auto choice = Choose(before, rank);
        if (!choice) continue;
        const auto [pass, piece] = *choice;
        int& count = done_[static_cast<size_t>(rank)][Place(pass, piece)];
        orders[static_cast<size_t>(rank)].push_back(
            {pass, static_cast<int16_t>(piece), count});
        ++count;
        --left;
        progress = true;
      }
      CHECK(progress) << "ZB-V of " << ranks_ << " ranks stands still";
    }
    return orders;
  }

 private:
  using Counts = std::array<int, kPieces * kPasses>;
  struct Choice {
    PipelinePass pass;
    int piece;
  };

  static size_t Place(PipelinePass pass, int piece) {
    const int of_pass = pass == PipelinePass::kForward         ? 0
                        : pass == PipelinePass::kInputGradient ? 1
                                                               : 2;
    return static_cast<size_t>(of_pass * kPieces + piece);
  }
  int Done(const std::vector<Counts>& done, PipelinePass pass,
           int stage) const {
    const StageLayout::Place place = layout_.PlaceOf(stage);
    return done[static_cast<size_t>(place.rank)][Place(pass, place.piece)];
  }

  bool IsReady(const std::vector<Counts>& done, int rank, Choice choice) const {
    const int stage = layout_.StageOf(rank, choice.piece);
    const int next = Done(done, choice.pass, stage);
    if (next >= micro_batches_) return false;
    switch (choice.pass) {
      case PipelinePass::kForward:
        return Held(done, rank) < kPieces * ranks_ &&
               (stage == 0 || Done(done, choice.pass, stage - 1) > next);
      case PipelinePass::kInputGradient:
        return Done(done, PipelinePass::kForward, stage) > next &&
               (stage == layout_.stages() - 1 ||
                Done(done, choice.pass, stage + 1) > next);
      case PipelinePass::kWeightGradient:
        return Done(done, PipelinePass::kInputGradient, stage) > next;
      case PipelinePass::kBackward:
        break;
    }
    CHECK(false) << "ZB-V splits the backward pass";
    return false;
  }

  static int Held(const std::vector<Counts>& done, int rank) {
    const Counts& counts = done[static_cast<size_t>(rank)];
    return counts[0] + counts[1] - counts[4] - counts[5];
  }

  std::optional<Choice> Choose(const std::vector<Counts>& done,
                               int rank) const {
    constexpr Choice kPreference[] = {
        {PipelinePass::kForward, 1},        {PipelinePass::kForward, 0},
        {PipelinePass::kInputGradient, 0},  {PipelinePass::kInputGradient, 1},
        {PipelinePass::kWeightGradient, 0}, {PipelinePass::kWeightGradient, 1}};
    for (const Choice& choice : kPreference) {
      if (IsReady(done, rank, choice)) return choice;
    }
    return std::nullopt;
  }

  StageLayout layout_;
  int ranks_;
  int micro_batches_;
  std::vector<Counts> done_;
};

}  // namespace

RankOrders ZeroBubbleVOrders(int ranks, int micro_batches) {
  return UnitTimePipeline(ranks, micro_batches).Run();
}

}  // namespace orrery
