#pragma once
// Writes the timeline that a user asked for.
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <string>
#include <utility>

#include "cli/commands/recorded_timeline.h"
#include "cli/flags/trace_request.h"
#include "run/scenario.h"
#include "run/simulated_run.h"
#include "traces/format/perfetto_writer.h"
#include "traces/timeline/request_tracks.h"

namespace orrery {

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

// Of several pools, one clock for all.
absl::Status WriteTrace(const TraceRequest& request,
                        const ResolvedScenario& scenario,
                        absl::Span<const TracedPool> pools,
                        const RequestTimeline* requests);

// The timelines of several runs in one file, each below a track of its name and
// all from the same instant on.
class SharedTrace {
 public:
  // The error says why there can be no file, or that only Perfetto's format
  // holds several.
  static absl::StatusOr<SharedTrace> Create(const TraceRequest& request);

  // Requires: `run` was made with RecordForTrace.
  absl::Status Add(const std::string& name, const ResolvedScenario& scenario,
                   const SimulatedRun& run,
                   const RequestTimeline* requests = nullptr);
  // Says on stderr what was written.
  absl::Status Finish();

 private:
  SharedTrace(TraceRequest request, PerfettoWriter writer)
      : request_(std::move(request)), writer_(std::move(writer)) {}

  TraceRequest request_;
  PerfettoWriter writer_;
};

}  // namespace orrery
