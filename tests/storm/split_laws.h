#pragma once
// What a split over ranks must cost: ranks that share tokens or weights have to
// exchange something, and ways to do so that differ take different times.
#include <optional>
#include <string>

#include "run/scenario.h"
#include "run/simulated_run.h"
#include "tests/storm/storm.h"
#include "workload/plan/degrees.h"

namespace orrery {

// The first dimension whose degree is above 1 although the run moves no bytes
// for it. Data ranks move bytes where they `sum_gradients`.
std::optional<std::string> WhySplitForNothing(const SimulatedRun& run,
                                              const Degrees& degrees,
                                              bool sum_gradients);

// Holds the methods of context parallelism that are legal for the scenario
// against one another, in a training step or in the first pass of the prefill,
// where nothing hides them.
void CheckContextMethods(const ResolvedScenario& scenario, StormSheet& sheet);

}  // namespace orrery
