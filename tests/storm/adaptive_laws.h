#pragma once
// What routing that adapts owes to the rules that do not: it may take either of
// them, so it must not be slower.
#include "run/scenario.h"
#include "run/simulated_run.h"
#include "tests/storm/storm.h"

namespace orrery {

// Runs the same plan with every adaptive fabric sprayed, and with Valiant
// routes. Nothing where no fabric adapts. Requires: `run` is that of the
// scenario with `options`, at fidelity FLUID, with its spans.
void HoldAdaptive(const ResolvedScenario& scenario, const SimulatedRun& run,
                  const RunOptions& options, StormSheet& sheet);

}  // namespace orrery
