#pragma once
// A scenario, simulated or put on paper: the one place that asks what kind of
// plan it has.
#include <absl/status/statusor.h>

#include "analytic/step/step_estimate.h"
#include "run/scenario.h"
#include "run/simulated_run.h"

namespace orrery {

// A training step, or the part of an inference request that the options name.
// The error says so if it would leave the range of time (run/time_range.h).
absl::StatusOr<SimulatedRun> RunScenario(const ResolvedScenario& scenario,
                                         const RunOptions& options);
// The same on a network that is built already: that of the scenario's system.
absl::StatusOr<SimulatedRun> RunScenario(const ResolvedScenario& scenario,
                                         const Network& network,
                                         const RunOptions& options);

// The closed form; `waited`: dimensions whose communication hides behind
// nothing; among other groups that do the same, or each group by itself, as a
// run at fidelity CLOSED_FORM has it. Of an inference plan, the part.
absl::StatusOr<StepEstimate> EstimateScenario(
    const ResolvedScenario& scenario, DimensionSet waited = {},
    Others others = Others::kAlike,
    InferencePart part = InferencePart::kDecodeStep);

// The closed form that is printed beside a run, by whatever command. It knows
// as much of other groups as the run does: at fidelity CLOSED_FORM nothing, and
// else what `estimate` and `tune` say of the scenario.
absl::StatusOr<StepEstimate> ClosedFormBeside(const ResolvedScenario& scenario,
                                              const RunOptions& options);

// What a run of this fidelity knows of other groups.
inline Others OthersAt(Fidelity fidelity) {
  return fidelity == Fidelity::kClosedForm ? Others::kNone : Others::kAlike;
}

}  // namespace orrery
