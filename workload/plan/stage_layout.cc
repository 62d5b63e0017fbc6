#include "workload/plan/stage_layout.h"

#include "base/check.h"

namespace orrery {

StageLayout::StageLayout(PipelineSchedule schedule, int ranks,
                         int virtual_stages)
    : schedule_(schedule),
      ranks_(ranks),
      pieces_(schedule == PipelineSchedule::kDualPipe ? 2 : virtual_stages),
      stages_(ranks * virtual_stages) {
  CHECK(ranks >= 1 && virtual_stages >= 1);
}

int StageLayout::StageOf(int rank, int piece) const {
  DCHECK(rank >= 0 && rank < ranks_ && piece >= 0 && piece < pieces_);
  switch (schedule_) {
    case PipelineSchedule::kGPipe:
    case PipelineSchedule::kOneForwardOneBackward:
    case PipelineSchedule::kInterleaved:
    case PipelineSchedule::kZeroBubbleH1:
      return piece * ranks_ + rank;
    case PipelineSchedule::kZeroBubbleV:
    case PipelineSchedule::kDualPipe:
      return piece == 0 ? rank : stages_ - 1 - rank;
  }
  CHECK(false) << "unknown schedule";
  return 0;
}

StageLayout::Place StageLayout::PlaceOf(int stage, bool second_half) const {
  DCHECK(stage >= 0 && stage < stages_);
  switch (schedule_) {
    case PipelineSchedule::kGPipe:
    case PipelineSchedule::kOneForwardOneBackward:
    case PipelineSchedule::kInterleaved:
    case PipelineSchedule::kZeroBubbleH1:
      return {stage % ranks_, stage / ranks_};
    case PipelineSchedule::kZeroBubbleV:
      return stage < ranks_ ? Place{stage, 0} : Place{stages_ - 1 - stage, 1};
    case PipelineSchedule::kDualPipe:
      return second_half ? Place{stages_ - 1 - stage, 1} : Place{stage, 0};
  }
  CHECK(false) << "unknown schedule";
  return {};
}

}  // namespace orrery
