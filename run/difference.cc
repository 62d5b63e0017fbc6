#include "run/difference.h"

#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/parallel.h"
#include "base/status.h"
#include "run/improve_system.h"
#include "run/inference_run.h"
#include "run/run_scenario.h"

namespace orrery {
namespace {

// Both with some effects off.
struct Setup {
  std::string off;  // the last of them
  RunOptions options;
  bool latency = true;
  bool fabric = true;
};

std::vector<Setup> Setups(const ResolvedScenario& scenario,
                          const Degrees& degrees, RunOptions options) {
  const System& system = scenario.system;
  // The two halves of a bidirectional pipeline hold a copy each.
  const TrainingPlan* plan = scenario.training();
  const bool copies =
      degrees.data * degrees.context > 1 ||
      (plan != nullptr && plan->layout().stages.bidirectional());
  std::vector<Setup> setups;
  bool latency = true;
  bool fabric = true;
  const auto add = [&](std::string off) {
    setups.push_back({std::move(off), options, latency, fabric});
  };
  if (options.fidelity != Fidelity::kClosedForm) {
    options.fidelity = Fidelity::kClosedForm;
    add("links shared with other calls");
  }
  if (options.chip_sharing) {
    options.chip_sharing = false;
    add("chips shared with communication");
  }
  const std::pair<Dimension, bool> dimensions[] = {
      {Dimension::kTensor, degrees.tensor > 1},
      {Dimension::kContext, degrees.context > 1},
      {Dimension::kExpert, degrees.expert > 1},
      {Dimension::kData, copies}};
  std::vector<Dimension> overlapping;
  for (const auto& [dimension, exists] : dimensions) {
    if (exists && !options.waited.Has(dimension)) {
      overlapping.push_back(dimension);
    }
  }
  for (const Dimension dimension : overlapping) {
    // With the last of them nothing overlaps any more, which the closed form
    // may know.
    options.waited = dimension == overlapping.back()
                         ? DimensionSet::All()
                         : options.waited.With(dimension);
    add(fmt::format("overlap of {} communication", NameOf(dimension)));
  }
  if (system.scale_out() && system.nodes() > 1) {
    fabric = false;
    add("messages of a call that meet between nodes");
  }
  latency = false;
  add("latency");
  return setups;
}

const Degrees& DegreesOf(const ResolvedScenario& scenario,
                         const RunOptions& options) {
  if (const TrainingPlan* plan = scenario.training()) return plan->degrees();
  const InferencePlan& plan = *scenario.inference();
  const PassPurpose purpose = PassesOf(plan, options.part).front().purpose;
  return plan.layout(purpose).degrees;
}

// Seconds by which the two differ.
absl::StatusOr<double> Run(const ResolvedScenario& scenario,
                           const Setup& setup) {
  // Small against everything else in a step.
  constexpr double kLatencyOff = 1e6;
  ResolvedScenario with = scenario;
  if (!setup.fabric) {
    pb::Fabric& fabric =
        *with.proto.mutable_system()->mutable_scale_out()->mutable_fabric();
    fabric.mutable_switch_()->set_planes(1);
    fabric.mutable_switch_()->set_links_per_endpoint(1);
    fabric.set_routing(pb::Fabric::SPRAY);
  }
  if (!setup.latency) {
    ASSIGN_OR_RETURN(with.proto,
                     Improved(with.proto, Improvement::kLatency, kLatencyOff));
  }
  ASSIGN_OR_RETURN(with.system,
                   SystemOf(with.proto.system(), with.proto.inference()));
  ASSIGN_OR_RETURN(const SimulatedRun run, RunScenario(with, setup.options));
  ASSIGN_OR_RETURN(
      const StepEstimate estimate,
      EstimateScenario(with, setup.options.waited,
                       OthersAt(setup.options.fidelity), setup.options.part));
  return ToSeconds(run.result.end) - estimate.step_s();
}

}  // namespace

absl::StatusOr<pb::Report::Difference> MeasureDifference(
    const ResolvedScenario& scenario, RunOptions options, double simulated_s,
    const pb::Report::Estimate& estimate) {
  options.record = false;
  options.progress = {};
  pb::Report::Difference result;
  const Degrees degrees = DegreesOf(scenario, options);
  const std::vector<Setup> setups =
      Setups(scenario, degrees, std::move(options));
  std::vector<absl::StatusOr<double>> outcomes(setups.size());
  InParallel(setups.size(),
             [&](size_t i) { outcomes[i] = Run(scenario, setups[i]); });
  const auto add = [&](const std::string& name, double seconds) {
    pb::Report::Difference::Effect& effect = *result.add_effects();
    effect.set_name(name);
    effect.set_seconds(seconds);
  };
  double left = simulated_s - estimate.step_time_s();
  if (estimate.has_held_s()) {
    add("closed form held within its bounds", -estimate.held_s());
    left += estimate.held_s();
  }
  for (size_t i = 0; i < setups.size(); ++i) {
    RETURN_IF_ERROR(outcomes[i].status());
    add(setups[i].off, left - *outcomes[i]);
    left = *outcomes[i];
  }
  result.set_unexplained_s(left);
  return result;
}

}  // namespace orrery
