#pragma once
// What would help: the step simulated again with one thing better at a time.
#include <absl/status/statusor.h>

#include <vector>

#include "base/units.h"
#include "run/improve_system.h"
#include "run/scenario.h"
#include "run/simulated_run.h"

namespace orrery {

// The step time with something 10 % and twice as good.
struct StepSensitivity {
  Improvement improvement{};
  Duration ten_percent{};
  Duration twice{};
};

// The most helpful first (by `twice`, then in the order of kImprovements). Runs
// on all processors; the result does not depend on how many there are. With the
// options of the run that it is compared to: merging kernels alone changes a
// step by some tenths of a percent. A training step of many micro-batches is
// known from shorter ones where it repeats itself (RunPeriodically).
// `options.progress` hears how many machines are done.
absl::StatusOr<std::vector<StepSensitivity>> Sensitivities(
    const ResolvedScenario& scenario, RunOptions options);

// How long the step of `scenario` takes with these options; a training step of
// many micro-batches by shorter ones where it repeats itself. `network`, if
// given, is that of its system.
absl::StatusOr<Duration> StepTimeOf(const ResolvedScenario& scenario,
                                    const Network* network,
                                    const RunOptions& options);

}  // namespace orrery
