#pragma once
// Writes the timeline that a user asked for.
#include <absl/status/status.h>

#include <string>

#include "cli/scenario.h"
#include "cli/trace_request.h"
#include "run/training_step.h"

namespace orrery {

// A path as a shell takes it.
std::string ShellWord(const std::string& path);

// How a run must be made so that its timeline can be written.
void RecordForTrace(TrainingOptions& options);

// Says on stderr what was written, and warns of a file too large to look at
// before writing it. Requires: `run` was made with RecordForTrace.
absl::Status WriteTrace(const TraceRequest& request,
                        const ResolvedScenario& scenario,
                        const TrainingRun& run);

}  // namespace orrery
