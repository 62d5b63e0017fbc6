#pragma once
// How far predictions are from measurements, per chip and class of kernel.
//
// A bar is the median of |predicted / measured - 1| that a group must reach.
// Rows on which constants were fitted are told apart from the others,
// and each group also shows the median over the others alone.
#include <absl/types/span.h>

#include <optional>
#include <string>
#include <vector>

#include "accuracy/kernel_measurement.h"

namespace orrery {

struct KernelPrediction {
  const KernelMeasurement* row;
  double predicted_seconds;
  // The row is one of those the constants were fitted on.
  bool fitted;
  double error() const { return predicted_seconds / row->seconds - 1; }
};

struct AccuracyGroup {
  std::string chip;
  // "gemm", "gemm above 1 TFLOP", ...
  std::string what;
  int rows = 0;
  int fitted = 0;
  double median = 0;
  double ninetieth = 0;
  double worst = 0;
  // Of the rows that were not fitted, if there are any.
  std::optional<double> held_out_median;
  // What the median must not exceed, if anything.
  std::optional<double> bar;
  bool met() const { return !bar.has_value() || median <= *bar; }
};

// Groups in order of chip, then class; products above 1 TFLOP are a group of
// their own besides, and so are kernels whose work outlasts what a host clock
// adds to them.
std::vector<AccuracyGroup> SummariseAccuracy(
    absl::Span<const KernelPrediction> predictions);

// A matrix product of more than 1 TFLOP.
bool IsLargeProduct(const KernelMeasurement& row);

// The value below which `share` of the sorted values lie: the nearest rank.
double Percentile(std::vector<double> values, double share);

}  // namespace orrery
