#pragma once
// StageLayout: which pipeline rank holds which piece of the model.
//
// The layers are cut into stages, in model order. A rank holds one stage
// (GPipe, 1F1B, ZB-H1), or several pieces: every p-th stage (interleaved), the
// two arms of a V (ZB-V), or the same stages from both ends (DualPipe, where
// the second half of the micro-batches enters at the last rank).
//
//   const StageLayout layout(PipelineSchedule::kInterleaved, /*ranks=*/4, 2);
//   layout.StageOf(3, 1);       // rank 3, piece 1: stage 7 of 8
//   layout.PlaceOf(7, micro);   // the other way round
namespace orrery {

enum class PipelineSchedule {
  kGPipe,
  kOneForwardOneBackward,
  kInterleaved,
  kZeroBubbleH1,
  kZeroBubbleV,
  kDualPipe
};

class StageLayout {
 public:
  struct Place {
    int rank;
    int piece;
    friend bool operator==(const Place&, const Place&) = default;
  };

  // Requires: ranks >= 1, virtual_stages >= 1 and as the schedule wants it (see
  // TrainingPlan).
  StageLayout(PipelineSchedule schedule, int ranks, int virtual_stages);
  // One rank that holds everything.
  StageLayout() : StageLayout(PipelineSchedule::kOneForwardOneBackward, 1, 1) {}

  int ranks() const { return ranks_; }
  // Stages a micro-batch passes.
  int stages() const { return stages_; }
  // Pieces on one rank.
  int pieces() const { return pieces_; }
  // DualPipe: every stage lives on two ranks, and micro-batches of the second
  // half run through the ranks backwards.
  bool bidirectional() const {
    return schedule_ == PipelineSchedule::kDualPipe;
  }

  // Ways through the ranks whose transfers must not wait for one another: two
  // where pieces of a rank pass micro-batches on in opposite directions.
  int arms() const {
    return schedule_ == PipelineSchedule::kZeroBubbleV ||
                   schedule_ == PipelineSchedule::kDualPipe
               ? 2
               : 1;
  }

  // Input and weight gradients are passes of their own.
  bool splits_gradients() const {
    return schedule_ == PipelineSchedule::kZeroBubbleH1 ||
           schedule_ == PipelineSchedule::kZeroBubbleV;
  }

  int StageOf(int rank, int piece) const;
  // Where `stage` of a micro-batch runs. `second_half` matters to bidirectional
  // layouts only.
  Place PlaceOf(int stage, bool second_half = false) const;

 private:
  PipelineSchedule schedule_;
  int ranks_;
  int pieces_;
  int stages_;
};

}  // namespace orrery
