#pragma once
// Flags and options that the commands on training scenarios have in common.
#include <absl/status/statusor.h>

#include <vector>

#include "cli/flags/command.h"
#include "cli/flags/scenario.h"
#include "run/simulated_run.h"

namespace orrery {

// --progress, for commands that may take long.
Flag ProgressFlag();
// Which part of an inference request a command looks at.
Flag PhaseFlag();

// --set, --json, --fidelity, --fold, --kernels, --memory, --progress.
std::vector<Flag> RunFlags();

// From the flags, else from the scenario.
absl::StatusOr<RunOptions> ReadRunOptions(const Arguments& arguments,
                                          const ResolvedScenario& scenario);

}  // namespace orrery
