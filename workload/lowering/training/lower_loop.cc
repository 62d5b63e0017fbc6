#include "workload/lowering/training/lower_loop.h"

#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "base/status.h"
#include "workload/program/lengthening.h"

namespace orrery {
namespace {

// Of steps that are lowered in place of a long one.
struct Siblings {
  int micro_batches = 0;  // of the shorter
  int more = 0;           // that the longer has, a period of the schedule
};

// Enough that a pipeline fills, goes through some periods and drains.
std::optional<Siblings> SiblingsOf(const TrainingPlan& plan) {
  constexpr int kPeriods = 4;
  const int pipeline = plan.degrees().pipeline;
  switch (plan.schedule()) {
    case PipelineSchedule::kGPipe:
      return std::nullopt;
    case PipelineSchedule::kOneForwardOneBackward:
      return Siblings{pipeline + kPeriods, 1};
    case PipelineSchedule::kZeroBubbleH1:
    case PipelineSchedule::kZeroBubbleV:
      return Siblings{kFilledRounds * pipeline + kPeriods, kZeroBubblePeriod};
    case PipelineSchedule::kInterleaved:
      return Siblings{kPeriods * pipeline, pipeline};
    case PipelineSchedule::kDualPipe:
      return Siblings{2 * pipeline + 2 * kPeriods, 2};
  }
  return std::nullopt;
}

WorkSplit Continue(const WorkSplit& first, const WorkSplit& second,
                   int32_t times) {
  const auto last = [&](auto of) {
    return second.*of + (second.*of - first.*of) * (times - 1);
  };
  return {.compute = last(&WorkSplit::compute),
          .memory_bound = last(&WorkSplit::memory_bound),
          .launch = last(&WorkSplit::launch),
          .flops = last(&WorkSplit::flops),
          .recomputed = last(&WorkSplit::recomputed),
          .host = last(&WorkSplit::host)};
}

}  // namespace

std::optional<int> FewestInLoop(const TrainingPlan& plan) {
  // Below, to write out all is as fast.
  constexpr int kTimesShorter = 3;
  constexpr int kTurns = 8;
  const std::optional<Siblings> siblings = SiblingsOf(plan);
  if (!siblings) return std::nullopt;
  return std::max(kTimesShorter * siblings->micro_batches,
                  siblings->micro_batches + kTurns * siblings->more);
}

bool IsLongLoop(const Model& model, const TrainingPlan& plan) {
  // Some tens of milliseconds.
  constexpr int64_t kLayers = 4096;
  const std::optional<int> fewest = FewestInLoop(plan);
  return fewest && plan.micro_batches() >= *fewest &&
         int64_t{model.layers()} * SiblingsOf(plan)->micro_batches >= kLayers;
}

absl::StatusOr<std::optional<PlacedProgram>> LowerLoop(
    const Model& model, const TrainingPlan& plan, OpTimer timer,
    const LowerOptions& options, const std::optional<OpTimer>& beside) {
  std::optional<PlacedProgram> none;
  const std::optional<int> fewest = FewestInLoop(plan);
  if (!fewest || plan.micro_batches() < *fewest) return none;
  const std::optional<Siblings> siblings = SiblingsOf(plan);
  const int more = siblings->more;
  // As many as are left when whole periods are taken away.
  const int few = siblings->micro_batches +
                  (plan.micro_batches() - siblings->micro_batches) % more;
  const int32_t times = (plan.micro_batches() - few) / more;
  absl::StatusOr<PlacedProgram> shorter;
  absl::StatusOr<PlacedProgram> longer;
  const auto lower = [&](size_t i) {
    if (i == 0) {
      shorter =
          LowerTraining(model, plan.WithMicroBatches(few), timer, options);
    } else {
      longer = LowerTraining(model, plan.WithMicroBatches(few + more),
                             beside.value_or(timer), options);
    }
  };
  if (beside) {
    InParallel(2, lower);
  } else {
    lower(0);
    if (shorter.ok()) lower(1);
  }
  RETURN_IF_ERROR(shorter.status());
  RETURN_IF_ERROR(longer.status());
  PlacedProgram& placed = *shorter;
  std::optional<Program> program =
      Lengthen(placed.program, longer->program, times);
  if (!program) return none;
  placed.program = *std::move(program);
  for (const RoleId id : placed.work.ids()) {
    RoleWork& work = placed.work[id];
    const RoleWork& second = longer->work[id];
    work.passes = Continue(work.passes, second.passes, times);
    work.host = second.host + (second.host - work.host) * (times - 1);
  }
  return std::optional<PlacedProgram>(std::move(placed));
}

}  // namespace orrery
