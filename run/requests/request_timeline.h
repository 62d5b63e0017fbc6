#pragma once
// When the steps of a simulated request ran, and whose they were: what a
// timeline shows of requests (traces/timeline/request_tracks.h).
#include <absl/status/statusor.h>

#include "run/scenario.h"
#include "run/simulated_run.h"
#include "traces/timeline/request_tracks.h"

namespace orrery {

// The timeline ends where the report says that the request does, after
// `end_to_end`: decode steps that `part` does not draw are one step of their
// length. Requires: `run` is that part of an inference scenario, with its
// spans; `part` is kRequest or kWholeRequest.
RequestTimeline RequestsOf(const ResolvedScenario& scenario,
                           const SimulatedRun& run, InferencePart part,
                           Duration end_to_end);

// What the decode pool does with the prompts of a prefill pool.
struct DecodePoolRun {
  // DrawnDecodePasses, with their spans.
  SimulatedRun run;
  // When the last of the cache is there: its first step begins.
  Time from{};
};
// Decode steps on chips of their own, those that `options.part` draws.
// Requires: separate pools, and more than one token of output.
absl::StatusOr<SimulatedRun> RunDecodePool(const ResolvedScenario& scenario,
                                           const RunOptions& options);
// The same as above with separate pools, of which `run` is the prefill.
RequestTimeline RequestsOf(const ResolvedScenario& scenario,
                           const SimulatedRun& run, const DecodePoolRun& decode,
                           InferencePart part, Duration end_to_end);

}  // namespace orrery
