#include "workload/lowering/pass_template.h"

#include <algorithm>

#include "base/check.h"
#include "workload/lowering/pass_writer.h"

namespace orrery {

namespace {

void WriteAgain(PassWriter& writer, const LayerOps& ops,
                const Recomputation& again) {
  std::vector<Step> steps;
  for (const Step& step : ops.forward) {
    if (again.full || (step.modules & again.modules) != 0) {
      steps.push_back(step);
    }
  }
  writer.SetPhase(WorkPhase::kRecompute);
  writer.AddSteps(steps);
}

// The steps of one slot, of a list sorted by slot downwards.
absl::Span<const Step> OfSlot(const std::vector<Step>& steps, int slot) {
  const auto first =
      std::find_if(steps.begin(), steps.end(),
                   [slot](const Step& s) { return s.slot == slot; });
  auto last = first;
  while (last != steps.end() && last->slot == slot) ++last;
  return absl::MakeConstSpan(steps.data() + (first - steps.begin()),
                             static_cast<size_t>(last - first));
}

}  // namespace

PassTemplate ForwardPass(const LayerOps& ops, OpTimer timer,
                         const PassOptions& options, TaskTable& table) {
  PassWriter writer(timer, options, table);
  writer.SetPhase(WorkPhase::kForward);
  writer.AddSteps(ops.forward);
  return std::move(writer).Finish();
}

PassTemplate BackwardPass(const LayerOps& ops, const Recomputation& again,
                          OpTimer timer, const PassOptions& options,
                          TaskTable& table) {
  PassWriter writer(timer, options, table);
  WriteAgain(writer, ops, again);
  int top = -1;
  for (const auto* list : {&ops.input_gradient, &ops.weight_gradient}) {
    if (!list->empty()) top = std::max<int>(top, list->front().slot);
  }
  for (int slot = top; slot >= 0; --slot) {
    const auto input = OfSlot(ops.input_gradient, slot);
    const auto weight = OfSlot(ops.weight_gradient, slot);
    // What the weights need again travels while the input's gradient is
    // computed.
    writer.SetPhase(WorkPhase::kWeightGradient);
    writer.AddWeightExchanges(weight);
    writer.SetPhase(WorkPhase::kBackward);
    writer.AddInputGradients(input);
    writer.SetPhase(WorkPhase::kWeightGradient);
    writer.AddWeightOps(weight);
  }
  return std::move(writer).Finish();
}

PassTemplate InputGradientPass(const LayerOps& ops, const Recomputation& again,
                               OpTimer timer, const PassOptions& options,
                               TaskTable& table) {
  PassWriter writer(timer, options, table);
  WriteAgain(writer, ops, again);
  writer.SetPhase(WorkPhase::kBackward);
  writer.AddSteps(ops.input_gradient);
  return std::move(writer).Finish();
}

PassTemplate WeightGradientPass(const LayerOps& ops, OpTimer timer,
                                const PassOptions& options, TaskTable& table) {
  PassWriter writer(timer, options, table);
  writer.SetPhase(WorkPhase::kWeightGradient);
  writer.AddSteps(ops.weight_gradient);
  return std::move(writer).Finish();
}

}  // namespace orrery
