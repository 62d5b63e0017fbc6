#include "analytic/step/step_floor.h"

#include <absl/types/span.h>

#include <algorithm>
#include <vector>

#include "analytic/step/pass_delays.h"
#include "workload/plan/memory.h"
#include "workload/plan/stage.h"
#include "workload/plan/stage_layout.h"

namespace orrery {
namespace {

// Seconds of a stage for one micro-batch, with calls that take the least they
// may.
struct StageLeast {
  // Of the rank's kernels, from the last before the passes to their own last.
  double busy = 0;
  double weights = 0;  // of it, gradients that nobody waits for
  // From the input of a pass to its result.
  double forward = 0;
  double backward = 0;
};

StageLeast LeastOf(const TrainingPlan& plan, const PlanUnits& units,
                   int stage) {
  const StageLayout& layout = plan.layout().stages;
  StageLeast least;
  if (layout.bidirectional()) {
    // Passes of both directions hide each other's calls.
    for (const int id : units.of_stage(stage)) {
      least.busy += units[id].time.kernels();
    }
    return least;
  }
  const absl::Span<const int> ids = units.of_stage(stage);
  const bool splits = layout.splits_gradients();
  PassDelays forward, backward, weights;
  for (const int id : ids) forward = forward.Then(units[id].least.forward);
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    const PassSet& passes = units[*id].least;
    backward = backward.Then(splits ? passes.input_gradient : passes.backward);
    if (splits) weights = weights.Then(passes.weight_gradient);
  }
  least.weights = weights.after_kernels.kernels;
  least.busy = forward.after_kernels.kernels + backward.after_kernels.kernels +
               least.weights;
  least.forward = std::max(0.0, forward.after_input.result);
  least.backward = std::max(0.0, backward.after_input.result);
  return least;
}

}  // namespace

StepFloor FloorOf(const TrainingPlan& plan, const PlanUnits& units,
                  const Placement& placement) {
  const StageLayout& layout = plan.layout().stages;
  std::vector<StageLeast> stages;
  // Passes of all stages before.
  std::vector<StageLeast> before = {StageLeast()};
  for (int stage = 0; stage < layout.stages(); ++stage) {
    const int like = units.FirstLike(stage);
    const StageLeast each = like < stage ? stages[static_cast<size_t>(like)]
                                         : LeastOf(plan, units, stage);
    stages.push_back(each);
    StageLeast sum = before.back();
    sum.forward += each.forward;
    sum.backward += each.backward;
    before.push_back(sum);
  }
  // Half of the micro-batches pass the ranks the other way around.
  const double m = plan.micro_batches() * (layout.bidirectional() ? 0.5 : 1.0);
  StepFloor floor;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    double busy = 0;
    double weights = 0;
    int first = layout.stages();
    RankParameters held;
    for (int piece = 0; piece < layout.pieces(); ++piece) {
      const int stage = layout.StageOf(rank, piece);
      busy += stages[static_cast<size_t>(stage)].busy;
      weights += stages[static_cast<size_t>(stage)].weights;
      first = std::min(first, stage);
      for (const int id : units.of_stage(stage)) held += units[id].parameters;
    }
    const StageLeast& passes = before[static_cast<size_t>(first)];
    floor.step_s =
        std::max(floor.step_s, passes.forward + m * (busy - weights) +
                                   std::max(m * weights, passes.backward));
    floor.state =
        std::max(floor.state, StaticBytes(plan, placement, held, {}).total());
  }
  return floor;
}

double MeanKernels(const TrainingPlan& plan, const PlanUnits& units) {
  const StageLayout& layout = plan.layout().stages;
  double sum = 0;
  for (int stage = 0; stage < layout.stages(); ++stage) {
    for (const int id : units.of_stage(stage)) sum += units[id].time.kernels();
  }
  return sum * plan.micro_batches() / layout.ranks();
}

}  // namespace orrery
