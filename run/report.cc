#include "run/report.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <optional>
#include <string>

#include "accuracy/trust/trust.h"
#include "base/check.h"
#include "base/format.h"
#include "base/units_text.h"
#include "run/inference_run.h"
#include "run/scenario_cost.h"
#include "run/training_report.h"
#include "workload/plan/memory.h"
#include "workload/plan/placement.h"

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

int64_t RanksOf(const PlacedProgram& placed) {
  int64_t ranks = 0;
  for (const RoleWork& work : placed.work) ranks += work.ranks;
  return ranks;
}

void FillMemory(const ResolvedScenario& scenario, const SimulatedRun& run,
                pb::Report::Memory& memory) {
  const Bytes reserved = scenario.kernels.reserved_memory();
  const MemoryPeak& peak = run.memory.peak;
  const auto bytes = [&](MemoryKind kind) {
    return peak.by_kind[static_cast<size_t>(kind)].value();
  };
  memory.set_peak_bytes((peak.total + reserved).value());
  memory.set_capacity_bytes(MemoryCapacity(scenario.system).value());
  const Bytes needed = MemoryNeeded(scenario, run.memory);
  memory.set_reserved_bytes(needed.value());
  memory.set_fits(needed <= MemoryCapacity(scenario.system));
  memory.set_weights_bytes(bytes(MemoryKind::kWeights));
  memory.set_gradients_bytes(bytes(MemoryKind::kGradients));
  memory.set_optimizer_bytes(bytes(MemoryKind::kOptimizer));
  memory.set_activations_bytes(bytes(MemoryKind::kActivations));
  memory.set_buffers_bytes(bytes(MemoryKind::kBuffers) + reserved.value());
  if (bytes(MemoryKind::kKvCache) > 0) {
    memory.set_kv_cache_bytes(bytes(MemoryKind::kKvCache));
  }
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
  const auto exposed = [&](Dimension dimension) {
    return from.ExposedSeconds(dimension);
  };
  to.set_compute_s(ToSeconds(from.kernels.arithmetic));
  to.set_memory_bound_s(ToSeconds(from.kernels.memory_bound));
  to.set_launch_s(ToSeconds(from.kernels.launch));
  to.set_tensor_exposed_s(exposed(Dimension::kTensor));
  to.set_context_exposed_s(exposed(Dimension::kContext));
  to.set_expert_exposed_s(exposed(Dimension::kExpert));
  to.set_pipeline_exposed_s(exposed(Dimension::kPipeline));
  to.set_data_exposed_s(exposed(Dimension::kData));
  to.set_bubble_s(ToSeconds(from.bubble));
  to.set_optimizer_s(ToSeconds(from.kernels.optimizer));
  to.set_kernels_slowed_by_communication_s(ToSeconds(from.kernels.shared_chip));
  if (from.kernels.slow_chip > Duration(0)) {
    to.set_slow_chip_s(ToSeconds(from.kernels.slow_chip));
  }
  to.set_late_peer_s(ToSeconds(from.late_peer));
  if (from.host > Duration(0)) to.set_host_s(ToSeconds(from.host));
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

// Constants of chip and kernels that are guesses, or another chip's.
void AddMachine(const System& system, const Kernels& kernels,
                const pb::System& proto, const pb::Kernels& kernels_proto,
                std::vector<std::string>& warnings) {
  if (!kernels.MadeFor(system.chip())) {
    warnings.push_back(fmt::format(
        "kernels {} were {} {}, not {}: times are extrapolated", kernels.name(),
        kernels.constants().taken_over ? "made for" : "measured on",
        absl::StrJoin(kernels.made_for(), ", "), system.chip().name()));
  }
  // Of a preset's chip the silicon is known; this one is partly another's.
  if (proto.chip().has_like()) {
    AddEstimates("chip " + system.chip().name(), proto.chip().source(),
                 warnings);
  }
  AddEstimates("kernels " + kernels.name(), kernels_proto.source(), warnings);
}

// The same of all machines, of engine and collectives.
std::vector<std::string> EstimatedConstants(const ResolvedScenario& scenario) {
  std::vector<std::string> warnings;
  AddMachine(scenario.system, scenario.kernels, scenario.proto.system(),
             scenario.proto.kernels(), warnings);
  const auto& pools = scenario.proto.inference().disaggregated();
  if (scenario.prefill) {
    AddMachine(scenario.prefill->system, scenario.prefill->kernels,
               pools.prefill_system(), pools.prefill_kernels(), warnings);
  }
  if (scenario.inference() != nullptr) {
    AddEstimates("engine " + scenario.inference()->engine().name,
                 scenario.proto.inference().engine().source(), warnings);
  }
  AddEstimates("collectives of " + scenario.system.name(),
               scenario.proto.system().collectives().source(), warnings);
  if (scenario.prefill) {
    AddEstimates("collectives of " + scenario.prefill->system.name(),
                 pools.prefill_system().collectives().source(), warnings);
  }
  return warnings;
}

// A slice of a pod that is too small for the rings its fabric is named after.
std::optional<std::string> OpenSides(const System& system) {
  if (!system.scale_up()) return std::nullopt;
  const auto* torus = std::get_if<TorusFabric>(&system.scale_up()->fabric.kind);
  if (torus == nullptr || torus->open.empty()) return std::nullopt;
  std::vector<int> open;
  for (size_t d = 0; d < torus->shape.size(); ++d) {
    if (torus->shape[d] > 1 && !torus->closes(d)) {
      open.push_back(torus->shape[d]);
    }
  }
  if (open.empty()) return std::nullopt;
  return fmt::format(
      "a slice of {} chips has no wrap-around links along its side{} of {}: "
      "there it is a mesh",
      absl::StrJoin(torus->shape, " x "), open.size() > 1 ? "s" : "",
      absl::StrJoin(open, ", "));
}

// A fabric whose links are faster than the chip's ports of that name.
std::optional<std::string> FasterThanPorts(const System& system) {
  if (!system.scale_up()) return std::nullopt;
  const LinkClass& link = system.scale_up()->fabric.link;
  for (const LinkPort& port : system.chip().ports()) {
    if (port.name != link.name || link.bandwidth <= port.bandwidth) continue;
    return fmt::format(
        "links {} carry {}, and the chip's ports of that name {}: what "
        "scale_up.fabric says counts",
        link.name, ToText(link.bandwidth, 4), ToText(port.bandwidth, 4));
  }
  return std::nullopt;
}

}  // namespace

void AddWarnings(const ResolvedScenario& scenario, pb::Report& report) {
  FillTrust(TrustIn(scenario.proto), report);
  if (const TrainingPlan* plan = scenario.training()) {
    for (std::string& warning : TrainingWarnings(*plan, scenario.system)) {
      report.add_warnings(std::move(warning));
    }
  }
  if (std::optional<std::string> warning = OpenSides(scenario.system)) {
    report.add_warnings(*std::move(warning));
  }
  if (std::optional<std::string> warning = FasterThanPorts(scenario.system)) {
    report.add_warnings(*std::move(warning));
  }
  for (std::string& warning : EstimatedConstants(scenario)) {
    report.add_warnings(std::move(warning));
  }
}

Bytes MemoryCapacity(const System& system) { return system.chip().memory(); }

Bytes PlannedCapacity(const System& system) {
  return Bytes(static_cast<int64_t>(
      (1 - system.memory_headroom()) *
      static_cast<double>(MemoryCapacity(system).value())));
}

Bytes MemoryNeeded(const ResolvedScenario& scenario,
                   const MemoryPeaks& memory) {
  const TrainingPlan* plan = scenario.training();
  if (plan == nullptr) {
    return memory.peak.total + scenario.kernels.reserved_memory();
  }
  return MemoryNeeded(*plan, scenario.kernels, memory);
}

Bytes MemoryNeeded(const TrainingPlan& plan, const Kernels& kernels,
                   const MemoryPeaks& memory) {
  Bytes most;
  const auto held = [&](const MemoryPeak& peak) {
    return AllocatorBytes(
        plan, peak.total,
        peak.by_kind[static_cast<size_t>(MemoryKind::kActivations)]);
  };
  most = held(memory.peak);
  for (const MemoryPeak& stage : memory.stages) {
    most = std::max(most, held(stage));
  }
  return most + kernels.reserved_memory() +
         GroupBufferBytes(plan, Placement(plan.layout()));
}

void FillThroughput(const ResolvedScenario& scenario, double step_s,
                    Flops recomputed, pb::Report& report) {
  report.set_step_time_s(step_s);
  if (const TrainingPlan* plan = scenario.training()) {
    FillTrainingThroughput(scenario.model, scenario.system, *plan, step_s,
                           recomputed, report);
  }
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
  if (from.host_s > 0) to.set_host_s(from.host_s);
  to.set_peak_bytes(from.peak.value());
}

namespace {

// No run of the program lies outside its bounds, whatever the formulas say.
void HoldWithinBounds(const pb::Report::Bounds& bounds,
                      pb::Report::Estimate& estimate) {
  const double terms = estimate.step_time_s();
  const double held = std::clamp(terms, bounds.lower_s(), bounds.upper_s());
  if (held == terms) return;
  estimate.set_held_s(held - terms);
  estimate.set_step_time_s(held);
}

}  // namespace

pb::Report MakeReport(const ResolvedScenario& scenario, const SimulatedRun& run,
                      const StepEstimate& estimate, const RunOptions& options,
                      const RunCost& cost) {
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
  HoldWithinBounds(report.bounds(), *report.mutable_estimate());
  auto& engine = *report.mutable_engine();
  engine.set_events(run.result.events);
  engine.set_tasks(run.result.tasks);
  engine.set_ranks(RanksOf(run.placed));
  engine.set_simulated_ranks(
      static_cast<int64_t>(run.placed.program.ranks().size()));
  engine.set_wall_s(cost.wall_s);
  engine.set_peak_rss_bytes(cost.peak_rss_bytes);
  engine.set_fidelity(FidelityName(options.fidelity));
  if (!run.asymmetry.empty()) {
    report.add_warnings("every rank was simulated: " + run.asymmetry);
  }
  if (!run.nearly.empty()) {
    report.add_warnings("ranks were simulated as one, but " + run.nearly);
  }
  AddWarnings(scenario, report);
  // What tokens of requests cost is more than one step (inference_cost.h).
  if (scenario.inference() == nullptr) {
    const StepWork work = WorkOf(run);
    FillCost(scenario, &work, report);
  }
  return report;
}

}  // namespace orrery
