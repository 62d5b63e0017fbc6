#pragma once
// What must be the same of a run whether its micro-batches are a loop or are
// written out: everything but what it takes to run it.
#include <optional>
#include <string>

#include "run/simulated_run.h"

namespace orrery {

// Whether any role has a loop.
bool HasLoop(const SimulatedRun& run);

// Step, ranks, memory, breakdown, counts and bounds, to the picosecond and the
// byte; otherwise the first that differs.
std::optional<std::string> WhyNotAlike(const SimulatedRun& looped,
                                       const SimulatedRun& written);

}  // namespace orrery
