#pragma once
// Whether a step stays within the range of simulated time.
//
// A bandwidth of 1 B/s makes a step of a thousand years. That is an answer
// about the input: it is refused before anything is simulated, and the part
// that takes longest is named. The limit leaves room for what a simulation may
// take longer than its closed form; a run that still leaves the range is
// stopped by the engine.
#include <absl/status/status.h>

#include "analytic/step/step_estimate.h"

namespace orrery {

// Eleven and a half days: no step of anything is longer.
inline constexpr double kLongestStepSeconds = 1e6;

// OK if the step, with nothing overlapped, is a number within the limit.
absl::Status CheckTimeRange(const StepEstimate& serial);

}  // namespace orrery
