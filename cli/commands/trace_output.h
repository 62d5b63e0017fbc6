#pragma once
// Writes the timeline that a user asked for.
#include <absl/status/status.h>
#include <absl/types/span.h>

#include <string>

#include "cli/flags/trace_request.h"
#include "run/scenario.h"
#include "run/simulated_run.h"
#include "traces/timeline/request_tracks.h"

namespace orrery {

// A path as a shell takes it.
std::string ShellWord(const std::string& path);

// How a run must be made so that its timeline can be written.
void RecordForTrace(RunOptions& options);
// The same, where nothing but that timeline is made of it: of a window no more
// is recorded than is drawn.
void RecordForTrace(const TraceRequest& request, RunOptions& options);

// Says on stderr what was written, and warns of a file too large to look at
// before writing it. `requests`, if given, are shown beside the ranks.
// Requires: `run` was made with RecordForTrace.
absl::Status WriteTrace(const TraceRequest& request,
                        const ResolvedScenario& scenario,
                        const SimulatedRun& run,
                        const RequestTimeline* requests = nullptr);

// One of several pools of chips, each with a run of its own.
struct TracedPool {
  std::string name;
  const SimulatedRun& run;
  const System& system;
  const Kernels& kernels;
  // When it begins.
  Time from{};
};
absl::Status WriteTrace(const TraceRequest& request,
                        const ResolvedScenario& scenario,
                        absl::Span<const TracedPool> pools,
                        const RequestTimeline* requests);

}  // namespace orrery
