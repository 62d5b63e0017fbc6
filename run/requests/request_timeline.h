#pragma once
// When the steps of a simulated request ran, and whose they were: what a
// timeline shows of requests (traces/timeline/request_tracks.h).
#include <absl/status/statusor.h>

#include "run/scenario.h"
#include "run/simulated_run.h"
#include "traces/timeline/request_tracks.h"

namespace orrery {

// Requires: `run` is InferencePart::kRequest of an inference scenario, with its
// spans.
RequestTimeline RequestsOf(const ResolvedScenario& scenario,
                           const SimulatedRun& run);

// What the decode pool does with the prompts of a prefill pool.
struct DecodePoolRun {
  // FirstDecodePasses, with their spans.
  SimulatedRun run;
  // When the last of the cache is there: its first step begins.
  Time from{};
};
// The first decode steps on chips of their own. Requires: separate pools, and
// more than one token of output.
absl::StatusOr<SimulatedRun> RunDecodePool(const ResolvedScenario& scenario,
                                           const RunOptions& options);
// The same as above with separate pools, of which `run` is the prefill.
RequestTimeline RequestsOf(const ResolvedScenario& scenario,
                           const SimulatedRun& run,
                           const DecodePoolRun& decode);

}  // namespace orrery
