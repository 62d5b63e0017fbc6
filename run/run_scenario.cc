#include "run/run_scenario.h"

#include <variant>

#include "base/format.h"
#include "base/overload.h"
#include "base/status.h"
#include "run/time_range.h"
#include "run/training_run.h"

namespace orrery {
namespace {

absl::Status NoInference(const ResolvedScenario& scenario) {
  return absl::InvalidArgumentError(fmt::format(
      "scenario '{}' is inference; this command takes training scenarios so "
      "far",
      scenario.proto.name()));
}

}  // namespace

absl::StatusOr<SimulatedRun> RunScenario(const ResolvedScenario& scenario,
                                         const RunOptions& options) {
  ASSIGN_OR_RETURN(const Network network, Network::Make(scenario.system));
  return RunScenario(scenario, network, options);
}

absl::StatusOr<SimulatedRun> RunScenario(const ResolvedScenario& scenario,
                                         const Network& network,
                                         const RunOptions& options) {
  RETURN_IF_ERROR(EstimateScenario(scenario, DimensionSet::All()).status());
  return std::visit(
      Overload{[&](const TrainingPlan& plan) {
                 return RunTraining({scenario.model, scenario.system,
                                     scenario.kernels, network},
                                    plan, options);
               },
               [&](const InferencePlan&) -> absl::StatusOr<SimulatedRun> {
                 return NoInference(scenario);
               }},
      scenario.plan);
}

absl::StatusOr<StepEstimate> EstimateScenario(const ResolvedScenario& scenario,
                                              DimensionSet waited,
                                              Others others) {
  return std::visit(
      Overload{[&](const TrainingPlan& plan) -> absl::StatusOr<StepEstimate> {
                 ASSIGN_OR_RETURN(
                     StepEstimator estimator,
                     StepEstimator::Create(scenario.model, scenario.system,
                                           scenario.kernels, others));
                 RETURN_IF_ERROR(CheckTimeRange(estimator.Estimate(
                     plan, {.waited = DimensionSet::All()})));
                 return estimator.Estimate(plan, {.waited = waited});
               },
               [&](const InferencePlan&) -> absl::StatusOr<StepEstimate> {
                 return NoInference(scenario);
               }},
      scenario.plan);
}

}  // namespace orrery
