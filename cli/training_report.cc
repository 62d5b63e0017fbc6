#include "cli/training_report.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <string>

#include "base/check.h"
#include "base/format.h"
#include "sim/folding/network_symmetry.h"
#include "workload/lowering/step_slots.h"
#include "workload/model/model_flops.h"

namespace orrery {
namespace {

std::string FidelityName(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::kClosedForm:
      return "CLOSED_FORM";
    case Fidelity::kFluid:
      return "FLUID";
    case Fidelity::kStepped:
      return "STEPPED";
  }
  return "";
}

void FillMemory(const ResolvedScenario& scenario, const TrainingRun& run,
                pb::Report::Memory& memory) {
  const Bytes reserved = scenario.kernels.reserved_memory();
  const MemoryPeak& peak = run.memory.peak;
  const auto bytes = [&](MemoryKind kind) {
    return peak.by_kind[static_cast<size_t>(kind)].value();
  };
  memory.set_peak_bytes((peak.total + reserved).value());
  memory.set_capacity_bytes(MemoryCapacity(scenario.system).value());
  memory.set_fits(peak.total + reserved <= MemoryCapacity(scenario.system));
  memory.set_weights_bytes(bytes(MemoryKind::kWeights));
  memory.set_gradients_bytes(bytes(MemoryKind::kGradients));
  memory.set_optimizer_bytes(bytes(MemoryKind::kOptimizer));
  memory.set_activations_bytes(bytes(MemoryKind::kActivations));
  memory.set_buffers_bytes(bytes(MemoryKind::kBuffers) + reserved.value());
  memory.set_peak_rank(run.memory.rank);
  memory.set_peak_at_s(ToSeconds(peak.at));
  for (const MemoryPeak& stage : run.memory.stages) {
    const auto of = [&](MemoryKind kind) {
      return stage.by_kind[static_cast<size_t>(kind)].value();
    };
    pb::Report::Memory::Stage& to = *memory.add_stages();
    to.set_peak_bytes((stage.total + reserved).value());
    to.set_peak_at_s(ToSeconds(stage.at));
    to.set_weights_bytes(of(MemoryKind::kWeights));
    to.set_gradients_bytes(of(MemoryKind::kGradients));
    to.set_optimizer_bytes(of(MemoryKind::kOptimizer));
    to.set_activations_bytes(of(MemoryKind::kActivations));
    to.set_buffers_bytes(of(MemoryKind::kBuffers) + reserved.value());
  }
}

void FillBreakdown(const StepBreakdown& from, pb::Report::Breakdown& to) {
  double pipeline = 0;
  for (size_t i = static_cast<size_t>(kFirstPipelineStream);
       i < from.exposed.size(); ++i) {
    pipeline += ToSeconds(from.exposed[i]);
  }
  const auto exposed = [&](StreamId stream) {
    return ToSeconds(from.exposed[Index(stream)]);
  };
  to.set_compute_s(ToSeconds(from.compute));
  to.set_memory_bound_s(ToSeconds(from.memory_bound));
  to.set_launch_s(ToSeconds(from.launch));
  to.set_tensor_exposed_s(exposed(kTensorStream));
  to.set_context_exposed_s(exposed(kContextStream));
  to.set_expert_exposed_s(exposed(kExpertStream));
  to.set_pipeline_exposed_s(pipeline);
  to.set_data_exposed_s(exposed(kDataStream) + exposed(kGatherStream));
  to.set_bubble_s(ToSeconds(from.bubble));
  to.set_optimizer_s(ToSeconds(from.optimizer));
  to.set_other_s(ToSeconds(from.slowed));
  to.set_straggler_s(ToSeconds(from.straggler));
}

// What of a part is a guess and nobody else vouches for, as its sources say.
void AddEstimates(const std::string& part,
                  const google::protobuf::RepeatedPtrField<pb::Source>& sources,
                  std::vector<std::string>& warnings) {
  std::vector<std::string> known;
  std::vector<std::string> guessed;
  for (const bool estimate : {false, true}) {
    for (const pb::Source& source : sources) {
      if (source.estimate() != estimate) continue;
      for (const absl::string_view field :
           absl::StrSplit(source.covers(), ", ")) {
        if (absl::c_linear_search(known, field)) continue;
        known.emplace_back(field);
        if (estimate) guessed.emplace_back(field);
      }
    }
  }
  if (guessed.empty()) return;
  warnings.push_back(fmt::format("{}: estimated, not measured: {}", part,
                                 absl::StrJoin(guessed, ", ")));
}

}  // namespace

Bytes MemoryCapacity(const System& system) { return system.chip().memory(); }

void FillThroughput(const ResolvedScenario& scenario, double step_s,
                    Flops recomputed, pb::Report& report) {
  const TrainingPlan& plan = *scenario.training;
  const double tokens =
      static_cast<double>(plan.global_batch()) * plan.sequence();
  const double chips = static_cast<double>(plan.degrees().ranks());
  const double peak = scenario.system.chip().peak(plan.precision())->value();
  const double model_flops =
      TrainingModelFlops(scenario.model, plan.global_batch(), plan.sequence(),
                         AttentionCount::kFull)
          .value();
  report.set_step_time_s(step_s);
  report.set_tokens_per_s(tokens / step_s);
  report.set_tokens_per_s_per_chip(tokens / step_s / chips);
  report.set_model_tflops_per_chip(model_flops / step_s / chips / 1e12);
  report.set_mfu(model_flops / step_s / chips / peak);
  report.set_hfu((model_flops + recomputed.value()) / step_s / chips / peak);
}

std::vector<std::string> TrainingWarnings(const ResolvedScenario& scenario) {
  std::vector<std::string> warnings;
  const TrainingPlan& plan = *scenario.training;
  const Degrees& degrees = plan.degrees();
  const int node = scenario.system.chips_per_node();
  if (degrees.tensor > node && !scenario.system.scale_up()->spans_nodes) {
    warnings.push_back(fmt::format(
        "tensor groups of {} span nodes of {} chips: every layer waits for the "
        "network between nodes",
        degrees.tensor, node));
  }
  if (!plan.routing().balanced()) {
    const int fullest = plan.routing().FullestPlace(degrees.expert);
    warnings.push_back(fmt::format(
        "routing is uneven: the fullest rank has {:.2f} times the mean rows, "
        "its fullest expert {:.2f} times",
        plan.routing().LoadOf(fullest, degrees.expert),
        plan.routing().PeakOf(fullest, degrees.expert)));
  }
  const Kernels& kernels = scenario.kernels;
  if (!kernels.MadeFor(scenario.system.chip())) {
    warnings.push_back(fmt::format(
        "kernels {} were {} {}, not {}: times are extrapolated", kernels.name(),
        kernels.constants().taken_over ? "made for" : "measured on",
        absl::StrJoin(kernels.made_for(), ", "),
        scenario.system.chip().name()));
  }
  AddEstimates("kernels " + kernels.name(), scenario.proto.kernels().source(),
               warnings);
  AddEstimates("collectives of " + scenario.system.name(),
               scenario.proto.system().collectives().source(), warnings);
  return warnings;
}

void FillEstimate(const StepEstimate& from, pb::Report::Estimate& to) {
  to.set_step_time_s(from.step_s());
  to.set_compute_s(from.compute_s);
  to.set_tensor_s(from.tensor_s);
  to.set_context_s(from.context_s);
  to.set_expert_s(from.expert_s);
  to.set_pipeline_s(from.pipeline_s);
  to.set_data_s(from.data_s);
  to.set_bubble_s(from.bubble_s);
  to.set_optimizer_s(from.optimizer_s);
  to.set_peak_bytes(from.peak.value());
}

pb::Report TrainingReport(const ResolvedScenario& scenario,
                          const TrainingRun& run, const StepEstimate& estimate,
                          const TrainingOptions& options, const RunCost& cost) {
  pb::Report report;
  report.set_scenario(scenario.proto.name());
  FillThroughput(scenario, ToSeconds(run.result.end), run.recomputed, report);
  FillMemory(scenario, run, *report.mutable_memory());
  FillBreakdown(run.breakdown, *report.mutable_breakdown());
  FillEstimate(estimate, *report.mutable_estimate());
  report.mutable_bounds()->set_lower_s(ToSeconds(run.bounds.lower()));
  report.mutable_bounds()->set_critical_path_s(
      ToSeconds(run.bounds.critical_path));
  report.mutable_bounds()->set_busiest_resource_s(
      ToSeconds(run.bounds.busiest));
  report.mutable_bounds()->set_upper_s(ToSeconds(run.bounds.upper));
  auto& engine = *report.mutable_engine();
  engine.set_events(run.result.events);
  engine.set_tasks(run.result.tasks);
  engine.set_ranks(scenario.training->degrees().ranks());
  engine.set_simulated_ranks(
      static_cast<int64_t>(run.step.program.ranks().size()));
  engine.set_wall_s(cost.wall_s);
  engine.set_peak_rss_bytes(cost.peak_rss_bytes);
  engine.set_fidelity(FidelityName(options.fidelity));
  if (!run.asymmetry.empty()) {
    report.add_warnings("every rank was simulated: " + run.asymmetry);
  }
  if (const auto nearly =
          TrafficAsymmetry(scenario.system, scenario.training->degrees());
      run.step.folded && nearly) {
    report.add_warnings("ranks were simulated as one, but " + *nearly);
  }
  for (std::string& warning : TrainingWarnings(scenario)) {
    report.add_warnings(std::move(warning));
  }
  return report;
}

}  // namespace orrery
