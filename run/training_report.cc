#include "run/training_report.h"

#include "base/format.h"
#include "workload/model/model_flops.h"

namespace orrery {

void FillTrainingThroughput(const Model& model, const System& system,
                            const TrainingPlan& plan, double step_s,
                            Flops recomputed, pb::Report& report) {
  const double tokens =
      static_cast<double>(plan.global_batch()) * plan.sequence();
  const double chips = static_cast<double>(plan.degrees().ranks());
  const double peak = system.chip().peak(plan.precision())->value();
  const auto flops = [&](AttentionCount count) {
    return TrainingModelFlops(model, plan.global_batch(), plan.sequence(),
                              count)
        .value();
  };
  const double model_flops = flops(AttentionCount::kFull);
  report.set_tokens_per_s(tokens / step_s);
  report.set_tokens_per_s_per_chip(tokens / step_s / chips);
  report.set_model_tflops_per_chip(model_flops / step_s / chips / 1e12);
  report.set_mfu(model_flops / step_s / chips / peak);
  report.set_mfu_causal(flops(AttentionCount::kCausal) / step_s / chips / peak);
  report.set_hfu((model_flops + recomputed.value()) / step_s / chips / peak);
}

std::vector<std::string> TrainingWarnings(const TrainingPlan& plan,
                                          const System& system) {
  std::vector<std::string> warnings;
  const Degrees& degrees = plan.degrees();
  const int node = system.chips_per_node();
  if (degrees.tensor > node && !system.scale_up()->spans_nodes) {
    warnings.push_back(fmt::format(
        "tensor groups of {} span nodes of {} chips: every layer waits for the "
        "network between nodes",
        degrees.tensor, node));
  }
  const double slowness = KernelSlowness(plan);
  if (slowness > 1) {
    warnings.push_back(fmt::format(
        "all wait for the slowest of {} chips: kernels take {:.1f} % longer "
        "than on a mean one (variation)",
        degrees.ranks(), 100 * (slowness - 1)));
  }
  if (!plan.layout().routing.balanced()) {
    const int fullest = plan.layout().routing.FullestPlace(degrees.expert);
    warnings.push_back(fmt::format(
        "routing is uneven: the fullest rank has {:.2f} times the mean rows, "
        "its fullest expert {:.2f} times",
        plan.layout().routing.LoadOf(fullest, degrees.expert),
        plan.layout().routing.PeakOf(fullest, degrees.expert)));
  }
  return warnings;
}

}  // namespace orrery
