#include "run/run_scenario.h"

#include <variant>

#include "base/format.h"
#include "base/overload.h"
#include "base/status.h"
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
                                              bool serial, Others others) {
  return std::visit(
      Overload{[&](const TrainingPlan& plan) -> absl::StatusOr<StepEstimate> {
                 ASSIGN_OR_RETURN(
                     StepEstimator estimator,
                     StepEstimator::Create(scenario.model, scenario.system,
                                           scenario.kernels, others));
                 return estimator.Estimate(plan, {.overlap = !serial});
               },
               [&](const InferencePlan&) -> absl::StatusOr<StepEstimate> {
                 return NoInference(scenario);
               }},
      scenario.plan);
}

}  // namespace orrery
