#include "analytic/step/unit_steps.h"

#include <algorithm>

#include "base/check.h"
#include "workload/plan/host_time.h"

namespace orrery {

std::vector<const LayerStep*> StepsOf(const LayerOps& ops,
                                      const std::vector<LayerStep>& again,
                                      PipelinePass pass) {
  std::vector<const LayerStep*> steps;
  const auto add = [&](const std::vector<LayerStep>& list, auto include) {
    for (const LayerStep& step : list) {
      if (include(step)) steps.push_back(&step);
    }
  };
  const auto all = [](const LayerStep&) { return true; };
  switch (pass) {
    case PipelinePass::kForward:
      add(ops.forward, all);
      return steps;
    case PipelinePass::kInputGradient:
      add(again, all);
      add(ops.input_gradient, all);
      return steps;
    case PipelinePass::kWeightGradient:
      add(ops.weight_gradient, all);
      return steps;
    case PipelinePass::kBackward:
      break;
  }
  // Module by module: what weights need again, inputs, weights.
  add(again, all);
  int top = -1;
  for (const auto* list : {&ops.input_gradient, &ops.weight_gradient}) {
    if (!list->empty()) top = std::max<int>(top, list->front().module_index);
  }
  for (int index = top; index >= 0; --index) {
    const auto of_module = [&](const LayerStep& step) {
      return step.module_index == index;
    };
    add(ops.weight_gradient, [&](const LayerStep& step) {
      return of_module(step) && step.exchange() != nullptr;
    });
    add(ops.input_gradient, of_module);
    add(ops.weight_gradient, [&](const LayerStep& step) {
      return of_module(step) && step.exchange() == nullptr;
    });
  }
  return steps;
}

Duration LaunchTime(const LayerOps& ops, const std::vector<LayerStep>& again,
                    PipelinePass pass, const TrainingPlan& plan) {
  const Duration inputs =
      LaunchTime(ops.input_gradient, plan) + LaunchTime(again, plan);
  const Duration weights = LaunchTime(ops.weight_gradient, plan);
  switch (pass) {
    case PipelinePass::kForward:
      return LaunchTime(ops.forward, plan);
    case PipelinePass::kBackward:
      return inputs + weights;
    case PipelinePass::kInputGradient:
      return inputs;
    case PipelinePass::kWeightGradient:
      return weights;
  }
  CHECK(false) << "no such pass";
  return Duration(0);
}

}  // namespace orrery
