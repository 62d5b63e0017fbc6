#pragma once
// The sum of a growing function over many whole numbers, from few of its
// values.
//
//   ASSIGN_OR_RETURN(const StepIntegral sum,
//                    SumOverSteps(1999, kPrecision, time_of_step));
//
// Between two values a line stands for the function. A function that grows lies
// between them too, however it jumps: over n steps the line is off by at most
// (n - 1) / 2 times what it grew. Intervals are halved until that is within
// `precision` of their sum; `error` adds up what is left of it.
//
// A function that grows but for ripples (kNearly) is asked at 32 places and
// more. The most by which one of these values is below an earlier one is what
// any other may be off beside: measured, not proven. There are more places
// until that is within `precision` too, at last all of them.
#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <cstdint>

namespace orrery {

struct StepIntegral {
  double sum = 0;
  double error = 0;  // same unit
  int evaluations = 0;
  double first = 0;
  double last = 0;
};

enum class Growth { kAlways, kNearly };

// Requires: steps > 0.
absl::StatusOr<StepIntegral> SumOverSteps(
    int64_t steps, double precision,
    absl::FunctionRef<absl::StatusOr<double>(int64_t)> at,
    Growth growth = Growth::kAlways);
// Every value.
absl::StatusOr<StepIntegral> SumEveryStep(
    int64_t steps, absl::FunctionRef<absl::StatusOr<double>(int64_t)> at);

}  // namespace orrery
