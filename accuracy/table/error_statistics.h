#pragma once
// ErrorStatistics: how far a set of predictions is off.
//
// An error is predicted / measured - 1. All but the bias are of its absolute
// value.
#include <absl/types/span.h>

#include <optional>
#include <vector>

namespace orrery {

struct RowError {
  double error;
  // The prediction has a constant that was fitted on this row.
  bool fitted = false;
};

struct ErrorStatistics {
  int rows = 0;
  int fitted = 0;
  double mean = 0;
  double median = 0;
  double ninetieth = 0;
  double worst = 0;
  // The mean with its sign: negative is too fast, or too small.
  double bias = 0;
  // The median over the rows that were not fitted, if there are any.
  std::optional<double> held_out_median;
};

// Requires: there are errors.
ErrorStatistics Summarise(absl::Span<const RowError> errors);

// Spearman's rank correlation of two lists of equal length; ties share the mean
// of their ranks. 0 if one of them is constant. Requires: there are values.
double RankCorrelation(absl::Span<const double> a, absl::Span<const double> b);

// The middle value; of an even number, the mean of the middle two.
// Requires: there are values.
double Median(std::vector<double> values);

// The smallest value that `share` of the values do not exceed: the nearest
// rank. Requires: there are values, and 0 < share <= 1.
double Percentile(std::vector<double> values, double share);

}  // namespace orrery
