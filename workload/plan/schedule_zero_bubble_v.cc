// ZB-V: two pieces per rank in the shape of a V, so that the last stage lies
// beside the first and backward passes can begin early.
//
// The authors find the schedule by a search (sail-sg/zero-bubble-pipeline-
// parallelism, scheduler/zbv.py) whose result, when forward, input gradient and
// weight gradient take one unit each, leaves no rank idle between its first and
// its last task. Ours is a rule with the same result: unit by unit a rank takes
// the first of its preferences that can run, and never holds more than 2 x
// ranks activations of half-size pieces. The preferences change when the rank
// has its first gradient, when its forward passes of the first piece are done,
// and when all are; they were found by trying, and a test holds them to the
// result. For micro_batches >= 2 x ranks every rank is busy without a gap and
// the step takes 6 m + p - 1 units, which no schedule can beat. With fewer
// micro-batches ranks must wait, and taking forward passes first waits least.
#include <array>
#include <optional>

#include "base/check.h"
#include "workload/plan/schedule.h"

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

  using Preferences = std::array<Choice, kPieces * kPasses>;

  const Preferences& PreferencesOf(const Counts& counts) const {
    using enum PipelinePass;
    constexpr Choice kForward0{kForward, 0}, kForward1{kForward, 1};
    constexpr Choice kInput0{kInputGradient, 0}, kInput1{kInputGradient, 1};
    constexpr Choice kWeight0{kWeightGradient, 0}, kWeight1{kWeightGradient, 1};
    static constexpr Preferences kFew = {kForward1, kForward0, kInput0,
                                         kInput1,   kWeight0,  kWeight1};
    static constexpr Preferences kFirst = {kForward1, kInput1, kWeight0,
                                           kWeight1,  kInput0, kForward0};
    static constexpr Preferences kSteady = {kInput1, kForward1, kForward0,
                                            kInput0, kWeight0,  kWeight1};
    static constexpr Preferences kSecondPiece = {kWeight0,  kWeight1,  kInput0,
                                                 kForward1, kForward0, kInput1};
    static constexpr Preferences kDrain = {kInput0,  kInput1,   kWeight0,
                                           kWeight1, kForward1, kForward0};
    if (micro_batches_ < kPieces * ranks_) return kFew;
    if (counts[Place(kInputGradient, 0)] + counts[Place(kInputGradient, 1)] ==
        0) {
      return kFirst;
    }
    if (counts[Place(kForward, 0)] < micro_batches_) return kSteady;
    if (counts[Place(kForward, 1)] < micro_batches_) return kSecondPiece;
    return kDrain;
  }

  std::optional<Choice> Choose(const std::vector<Counts>& done,
                               int rank) const {
    for (const Choice& choice :
         PreferencesOf(done[static_cast<size_t>(rank)])) {
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
