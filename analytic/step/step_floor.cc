#include "analytic/step/step_floor.h"

#include <algorithm>
#include <vector>

#include "workload/plan/memory.h"
#include "workload/plan/stage.h"
#include "workload/plan/stage_layout.h"

namespace orrery {
namespace {

// Seconds of kernels of one micro-batch.
struct StageKernels {
  double forward = 0;
  double input_gradient = 0;
  double weight_gradient = 0;
  // Passes of the stages before.
  double forward_before = 0;
  double backward_before = 0;
};

std::vector<StageKernels> KernelsOf(const TrainingPlan& plan,
                                    const PlanUnits& units, int stages) {
  // Nobody waits for gradients of weights where they are passes of their own,
  // nor for what a stage can compute again before its gradient arrives.
  const bool splits = plan.layout().stages.splits_gradients();
  const bool recomputes = plan.recompute() != Recompute::kNone;
  std::vector<StageKernels> kernels;
  StageKernels sum;
  for (int stage = 0; stage < stages; ++stage) {
    StageKernels each{.forward_before = sum.forward_before,
                      .backward_before = sum.backward_before};
    for (const int id : units.of_stage(stage)) {
      const UnitEstimate& time = units[id].time;
      each.forward += time.forward.kernels;
      each.input_gradient += time.input_gradient.kernels;
      each.weight_gradient += time.weight_gradient.kernels;
    }
    sum.forward_before += each.forward;
    sum.backward_before +=
        std::max(0.0, each.input_gradient - (recomputes ? each.forward : 0)) +
        (splits ? 0 : each.weight_gradient);
    kernels.push_back(each);
  }
  return kernels;
}

}  // namespace

StepFloor FloorOf(const TrainingPlan& plan, const PlanUnits& units,
                  const Placement& placement) {
  const StageLayout& layout = plan.layout().stages;
  const bool splits = layout.splits_gradients();
  const std::vector<StageKernels> stages =
      KernelsOf(plan, units, layout.stages());
  // Half of the micro-batches pass the ranks the other way around.
  const double m = plan.micro_batches() * (layout.bidirectional() ? 0.5 : 1.0);
  StepFloor floor;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    StageKernels own;
    int first = layout.stages();
    RankParameters held;
    for (int piece = 0; piece < layout.pieces(); ++piece) {
      const int stage = layout.StageOf(rank, piece);
      const StageKernels& each = stages[static_cast<size_t>(stage)];
      own.forward += each.forward;
      own.input_gradient += each.input_gradient;
      own.weight_gradient += each.weight_gradient;
      first = std::min(first, stage);
      for (const int id : units.of_stage(stage)) held += units[id].parameters;
    }
    const StageKernels& before = stages[static_cast<size_t>(first)];
    const double needed = m * (own.forward + own.input_gradient);
    const double weights = m * own.weight_gradient;
    const double end = splits
                           ? needed + std::max(weights, before.backward_before)
                           : needed + weights + before.backward_before;
    floor.step_s = std::max(floor.step_s, before.forward_before + end);
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
