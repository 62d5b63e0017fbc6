#pragma once
// A scenario, simulated or put on paper: the one place that asks what kind of
// plan it has.
#include <absl/status/statusor.h>

#include "analytic/step/step_estimate.h"
#include "run/scenario.h"
#include "run/simulated_run.h"

namespace orrery {

// A training step, or the part of an inference request that the options name.
absl::StatusOr<SimulatedRun> RunScenario(const ResolvedScenario& scenario,
                                         const RunOptions& options);
// The same on a network that is built already: that of the scenario's system.
absl::StatusOr<SimulatedRun> RunScenario(const ResolvedScenario& scenario,
                                         const Network& network,
                                         const RunOptions& options);

// The closed form; with `serial`, of a step in which nothing overlaps. Of an
// inference plan, the part.
absl::StatusOr<StepEstimate> EstimateScenario(
    const ResolvedScenario& scenario, bool serial = false,
    InferencePart part = InferencePart::kDecodeStep);

}  // namespace orrery
