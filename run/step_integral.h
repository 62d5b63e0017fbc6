#pragma once
// The sum of a smooth, growing function over many whole numbers, from few of
// its values.
//
//   ASSIGN_OR_RETURN(const StepIntegral sum,
//                    SumOverSteps(1999, kPrecision, time_of_step));
//
// Intervals are halved until the value in the middle lies on the line between
// the ends, to within `precision` of it. In between the line stands for the
// function; `error` adds up, over the intervals, how far the middle was off,
// which bounds the difference as long as the function bends no more inside an
// interval than its middle shows; a function that grows also lies between the
// values at the ends, and the smaller of the two bounds counts.
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

// Requires: steps > 0.
absl::StatusOr<StepIntegral> SumOverSteps(
    int64_t steps, double precision,
    absl::FunctionRef<absl::StatusOr<double>(int64_t)> at);
// Every value.
absl::StatusOr<StepIntegral> SumEveryStep(
    int64_t steps, absl::FunctionRef<absl::StatusOr<double>(int64_t)> at);

}  // namespace orrery
