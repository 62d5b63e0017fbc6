#pragma once
// Why a step takes as long as it does: from a recorded run to an answer.
#include <absl/types/span.h>

#include "proto/explanation.pb.h"
#include "run/scenario.h"
#include "run/sensitivities.h"
#include "run/simulated_run.h"

namespace orrery {

// Requires: `run` was recorded.
pb::Explanation Explain(
    const ResolvedScenario& scenario, const SimulatedRun& run,
    absl::Span<const StepSensitivity> sensitivities,
    absl::Span<const pb::Explanation::PlanAdvice> advice = {},
    absl::Span<const pb::Explanation::Removal> removals = {});

}  // namespace orrery
