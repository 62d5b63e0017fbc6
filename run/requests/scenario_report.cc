#include "run/requests/scenario_report.h"

#include "base/status.h"
#include "run/report.h"
#include "run/requests/inference_report.h"
#include "run/run_scenario.h"
#include "run/scenario_cost.h"

namespace orrery {

absl::StatusOr<pb::Report> ReportScenario(const ResolvedScenario& scenario,
                                          const RunOptions& options) {
  if (scenario.inference() != nullptr) {
    return ReportInference(scenario, {.run = options});
  }
  ASSIGN_OR_RETURN(const SimulatedRun run, RunScenario(scenario, options));
  ASSIGN_OR_RETURN(const StepEstimate estimate, EstimateScenario(scenario));
  return MakeReport(scenario, run, estimate, options, {});
}

absl::StatusOr<pb::Report> EstimateReport(const ResolvedScenario& scenario) {
  if (scenario.inference() != nullptr) {
    return EstimateInference(scenario);
  }
  ASSIGN_OR_RETURN(const StepEstimate estimate, EstimateScenario(scenario));
  pb::Report report;
  report.set_scenario(scenario.proto.name());
  FillThroughput(scenario, estimate.step_s(), estimate.recomputed, report);
  report.set_step_time_s(estimate.step_s());
  FillEstimate(estimate, *report.mutable_estimate());
  pb::Report::Memory& memory = *report.mutable_memory();
  memory.set_peak_bytes(estimate.peak.value());
  memory.set_capacity_bytes(MemoryCapacity(scenario.system).value());
  memory.set_reserved_bytes(estimate.reserved.value());
  memory.set_fits(memory.reserved_bytes() <= memory.capacity_bytes());
  AddWarnings(scenario, report);
  FillCost(scenario, nullptr, report);
  return report;
}

}  // namespace orrery
