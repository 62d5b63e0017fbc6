#include "accuracy/table/error_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

namespace {

// From 1; values that are equal have the mean of their places.
std::vector<double> RanksOf(absl::Span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t i, size_t j) { return values[i] < values[j]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) {
      ++last;
    }
    const double mean = static_cast<double>(first + 1 + last) / 2;
    for (size_t i = first; i < last; ++i) ranks[order[i]] = mean;
    first = last;
  }
  return ranks;
}

}  // namespace

double RankCorrelation(absl::Span<const double> a, absl::Span<const double> b) {
  CHECK(!a.empty() && a.size() == b.size());
  const std::vector<double> x = RanksOf(a);
  const std::vector<double> y = RanksOf(b);
  const double mean = static_cast<double>(a.size() + 1) / 2;
  double product = 0, of_x = 0, of_y = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    product += (x[i] - mean) * (y[i] - mean);
    of_x += (x[i] - mean) * (x[i] - mean);
    of_y += (y[i] - mean) * (y[i] - mean);
  }
  return of_x > 0 && of_y > 0 ? product / std::sqrt(of_x * of_y) : 0;
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
