#include "run/run_scenario.h"

#include <variant>

#include "analytic/inference/inference_estimate.h"
#include "base/format.h"
#include "base/overload.h"
#include "base/status.h"
#include "run/inference_run.h"
#include "run/phase_ground.h"
#include "run/time_range.h"
#include "run/training_run.h"

namespace orrery {
namespace {

PassPurpose PhaseOf(const InferencePlan& plan, InferencePart part) {
  return PassesOf(plan, part)[0].purpose;
}

absl::StatusOr<SimulatedRun> RunInferencePart(const TrainingGround& on,
                                              const InferencePlan& plan,
                                              const RunOptions& options) {
  ASSIGN_OR_RETURN(InferenceSimulator simulator,
                   InferenceSimulator::Create(on, plan));
  return simulator.Run(PassesOf(plan, options.part), options);
}

absl::StatusOr<SimulatedRun> RunPart(const ResolvedScenario& scenario,
                                     const PhaseGrounds& grounds,
                                     const RunOptions& options) {
  const InferencePlan& plan = *scenario.inference();
  return RunInferencePart(grounds.of(PhaseOf(plan, options.part)), plan,
                          options);
}

}  // namespace
absl::StatusOr<SimulatedRun> RunScenario(const ResolvedScenario& scenario,
                                         const RunOptions& options) {
  if (scenario.inference() != nullptr) {
    ASSIGN_OR_RETURN(const PhaseGrounds grounds, PhaseGrounds::Make(scenario));
    return RunPart(scenario, grounds, options);
  }
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
               [&](const InferencePlan& plan) -> absl::StatusOr<SimulatedRun> {
                 // Pools of their own have networks of their own.
                 if (plan.disaggregated())
                   return RunScenario(scenario, options);
                 return RunInferencePart({scenario.model, scenario.system,
                                          scenario.kernels, network},
                                         plan, options);
               }},
      scenario.plan);
}

absl::StatusOr<StepEstimate> ClosedFormBeside(const ResolvedScenario& scenario,
                                              const RunOptions& options) {
  return EstimateScenario(scenario, options.waited, OthersAt(options.fidelity),
                          options.part);
}

absl::StatusOr<StepEstimate> EstimateScenario(const ResolvedScenario& scenario,
                                              DimensionSet waited,
                                              Others others,
                                              InferencePart part) {
  return std::visit(
      Overload{[&](const TrainingPlan& plan) -> absl::StatusOr<StepEstimate> {
                 ASSIGN_OR_RETURN(
                     StepEstimator estimator,
                     StepEstimator::Create(scenario.model, scenario.system,
                                           scenario.kernels, others));
                 RETURN_IF_ERROR(CheckTimeRange(estimator.Estimate(
                     plan, {.waited = DimensionSet::All()})));
                 return estimator.Estimate(
                     plan,
                     {.waited = waited, .each_rank = others == Others::kNone});
               },
               [&](const InferencePlan& plan) -> absl::StatusOr<StepEstimate> {
                 ASSIGN_OR_RETURN(const PhaseGrounds grounds,
                                  PhaseGrounds::Make(scenario));
                 const TrainingGround on = grounds.of(PhaseOf(plan, part));
                 ASSIGN_OR_RETURN(InferenceEstimator estimator,
                                  InferenceEstimator::Create(
                                      on.model, on.system, on.kernels, others));
                 return estimator.Steps(plan, PassesOf(plan, part),
                                        {.waited = waited,
                                         .each_rank = others == Others::kNone,
                                         .once = true});
               }},
      scenario.plan);
}

}  // namespace orrery
