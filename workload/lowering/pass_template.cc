#include "workload/lowering/pass_template.h"

#include <algorithm>

#include "base/check.h"
#include "workload/lowering/pass_writer.h"

namespace orrery {

namespace {

void WriteAgain(PassWriter& writer, const std::vector<LayerStep>& again) {
  if (again.empty()) return;
  writer.SetPhase(WorkPhase::kRecompute);
  writer.AddSteps(again);
}

// The steps of one module, of a list sorted by module downwards.
absl::Span<const LayerStep> OfModule(const std::vector<LayerStep>& steps,
                                     int index) {
  const auto first = std::find_if(
      steps.begin(), steps.end(),
      [index](const LayerStep& s) { return s.module_index == index; });
  auto last = first;
  while (last != steps.end() && last->module_index == index) ++last;
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

PassTemplate BackwardPass(const LayerOps& ops,
                          const std::vector<LayerStep>& again, OpTimer timer,
                          const PassOptions& options, TaskTable& table) {
  PassWriter writer(timer, options, table);
  WriteAgain(writer, again);
  int top = -1;
  for (const auto* list : {&ops.input_gradient, &ops.weight_gradient}) {
    if (!list->empty()) top = std::max<int>(top, list->front().module_index);
  }
  for (int index = top; index >= 0; --index) {
    const auto input = OfModule(ops.input_gradient, index);
    const auto weight = OfModule(ops.weight_gradient, index);
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

PassTemplate InputGradientPass(const LayerOps& ops,
                               const std::vector<LayerStep>& again,
                               OpTimer timer, const PassOptions& options,
                               TaskTable& table) {
  PassWriter writer(timer, options, table);
  WriteAgain(writer, again);
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
