#include "accuracy/error_statistics.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace orrery {

ErrorStatistics Summarise(absl::Span<const RowError> errors) {
  CHECK(!errors.empty());
  std::vector<double> all;
  std::vector<double> held_out;
  ErrorStatistics result;
  for (const RowError& row : errors) {
    const double size = std::abs(row.error);
    all.push_back(size);
    if (!row.fitted) held_out.push_back(size);
    result.mean += size;
    result.bias += row.error;
  }
  const auto count = static_cast<double>(all.size());
  result.rows = static_cast<int>(all.size());
  result.fitted = static_cast<int>(all.size() - held_out.size());
  result.mean /= count;
  result.bias /= count;
  result.worst = *std::max_element(all.begin(), all.end());
  result.ninetieth = Percentile(all, 0.9);
  result.median = Median(std::move(all));
  if (!held_out.empty()) result.held_out_median = Median(std::move(held_out));
  return result;
}

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

double Percentile(std::vector<double> values, double share) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::max(1.0, rank)) - 1];
}

}  // namespace orrery
