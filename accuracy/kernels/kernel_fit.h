#pragma once
// Fitting the few free constants of kernels to measured ones.
//
// Minimises the mean over classes of kernels of the mean |log(predicted /
// measured)|, so that many small products do not drown a few attention rows,
// by descending one constant at a time with shrinking steps. Deterministic;
// every constant stays within its range. Products above 1 TFLOP are a class of
// their own, as in the accuracy tables. A third of the rows is used, evenly
// spread over each source and kind; the others stay out, to tell whether the
// fit holds.
#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <string>
#include <vector>

#include "accuracy/kernels/kernel_measurement.h"

namespace orrery {

// A constant: its start and the range that physics and datasheets leave it.
struct FitConstant {
  std::string name;
  double value = 0;
  double low = 0;
  double high = 0;
};

struct FitResult {
  std::vector<FitConstant> constants;
  double loss_before = 0;
  double loss_after = 0;
  int evaluations = 0;
};

// Every third row of each (source, kind), in the order of the table. Unfused
// attention is left out: it has no constants of its own, and only tests those
// of products and softmax.
std::vector<const KernelMeasurement*> RowsToFit(
    absl::Span<const KernelMeasurement> rows, absl::string_view chip);

// Mean over classes of the mean |log(predicted / measured)|.
double FitLoss(absl::Span<const KernelMeasurement* const> rows,
               const HarnessTimers& timers);

// The constants on which the loss depends at all.
std::vector<FitConstant> WithEffect(
    absl::Span<const FitConstant> constants,
    absl::FunctionRef<double(absl::Span<const FitConstant>)> loss);

// `loss` evaluates a set of constants.
FitResult FitConstants(
    std::vector<FitConstant> constants,
    absl::FunctionRef<double(absl::Span<const FitConstant>)> loss);

}  // namespace orrery
