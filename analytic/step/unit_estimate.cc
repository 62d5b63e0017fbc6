#include "analytic/step/unit_estimate.h"

#include <algorithm>

#include "workload/plan/host_time.h"
#include "workload/plan/stage.h"

namespace orrery {
namespace {

// A list of steps along the main chain.
template <class Include>
void AddSteps(const PricedSteps& list, Include include, PassEstimate& pass,
              Flops* flops = nullptr) {
  for (size_t i = 0; i < list.steps.size(); ++i) {
    const LayerStep& step = list.steps[i];
    if (!include(step)) continue;
    if (step.op() != nullptr) {
      pass.kernels += list.seconds[i];
      if (flops != nullptr) *flops += list.flops[i];
      continue;
    }
    pass.exposed[static_cast<size_t>(step.exchange()->group)] +=
        list.exposed[i];
  }
}

double KernelsOfModule(const PricedSteps& list, int module_index) {
  double sum = 0;
  for (size_t i = 0; i < list.steps.size(); ++i) {
    const LayerStep& step = list.steps[i];
    if (step.module_index == module_index && step.op() != nullptr)
      sum += list.seconds[i];
  }
  return sum;
}

// Exchanges of `list` hide behind the kernels of `behind` in the same module.
// `after_own`: only those that follow the module's own product; a gather before
// it is waited for.
void Hide(const PricedSteps& list, const PricedSteps& behind, bool after_own,
          DimensionSet waited, PassEstimate& pass) {
  for (size_t i = 0; i < list.steps.size(); ++i) {
    const LayerStep& step = list.steps[i];
    if (step.exchange() == nullptr ||
        waited.Has(DimensionOf(step.exchange()->group))) {
      continue;
    }
    const bool first =
        i == 0 || list.steps[i - 1].module_index != step.module_index;
    if (after_own && first) continue;
    const double hidden =
        std::min(list.exposed[i], KernelsOfModule(behind, step.module_index));
    double& exposed = pass.exposed[static_cast<size_t>(step.exchange()->group)];
    exposed = std::max(0.0, exposed - hidden);
  }
}

}  // namespace

ForwardEstimate EstimateForward(const LayerOps& ops, const UnitSetting& setting,
                                PriceList& prices) {
  const PricedSteps priced = PriceSteps(ops.forward, setting, prices);
  ForwardEstimate estimate;
  AddSteps(
      priced, [](const LayerStep&) { return true; }, estimate.sums);
  for (size_t i = 0; i < ops.forward.size(); ++i) {
    const Exchange* exchange = ops.forward[i].exchange();
    if (exchange == nullptr) {
      estimate.steps.push_back(priced.seconds[i]);
      estimate.call.push_back(std::nullopt);
      continue;
    }
    // The blocks of a ring are started one by one.
    for (int block = 0; block < exchange->steps; ++block) {
      estimate.steps.push_back(priced.exposed[i] / exchange->steps);
      estimate.call.push_back(exchange->group);
    }
  }
  return estimate;
}

UnitEstimate EstimateUnit(const PricedUnit& priced, const TrainingPlan& plan,
                          DimensionSet waited) {
  const auto all = [](const LayerStep&) { return true; };
  const LayerOps& ops = priced.ops;
  const PricedSteps& forward = priced.forward;
  const PricedSteps& inputs = priced.input_gradient;
  const PricedSteps& weights = priced.weight_gradient;
  UnitEstimate unit;
  AddSteps(forward, all, unit.forward);
  AddSteps(inputs, all, unit.input_gradient);
  AddSteps(weights, all, unit.weight_gradient);
  // Zero-bubble schedules run the two gradients apart: nothing hides behind the
  // other. Nor does it if the plan has them wait.
  const bool apart = plan.layout().stages.splits_gradients() ||
                     !plan.overlap_weight_gradient();
  if (!apart) {
    // Weight gradients hide the exchange of their module's input gradient, and
    // what they need again comes while that is computed.
    Hide(inputs, weights, /*after_own=*/true, waited, unit.input_gradient);
    Hide(weights, inputs, /*after_own=*/false, waited, unit.weight_gradient);
  }
  if (ops.checkpointed && plan.recompute() != Recompute::kNone) {
    AddSteps(
        forward, [&](const LayerStep& step) { return RunsAgain(step, plan); },
        unit.input_gradient, &unit.recomputed);
  }
  if (plan.framework().dispatch) {
    const auto host = [&](const std::vector<LayerStep>& steps) {
      return ToSeconds(LaunchTime(steps, plan));
    };
    const double forward_s = host(ops.forward);
    const double inputs_s =
        host(ops.input_gradient) + host(RecomputedSteps(ops, plan));
    const double weights_s = host(ops.weight_gradient);
    if (plan.framework().blocking_launches) {
      unit.forward.kernels += forward_s;
      unit.input_gradient.kernels += inputs_s;
      unit.weight_gradient.kernels += weights_s;
    } else {
      unit.forward.launching = forward_s;
      unit.input_gradient.launching = inputs_s;
      unit.weight_gradient.launching = weights_s;
    }
  }
  return unit;
}

}  // namespace orrery
