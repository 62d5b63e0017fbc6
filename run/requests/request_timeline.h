#pragma once
// When the steps of a simulated request ran, and whose they were: what a
// timeline shows of requests (traces/timeline/request_tracks.h).
#include "run/scenario.h"
#include "run/simulated_run.h"
#include "traces/timeline/request_tracks.h"

namespace orrery {

// Requires: `run` is InferencePart::kRequest of an inference scenario, with its
// spans.
RequestTimeline RequestsOf(const ResolvedScenario& scenario,
                           const SimulatedRun& run);

}  // namespace orrery
