#include "topology/routing/adaptive_split.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace orrery {
namespace {

// Times that differ by less are meant to be equal: sums of the same traffic in
// another order. Otherwise what is the same for every split, as the link of a
// chip is, would decide by its rounding.
constexpr double kRounding = 1e-12;

}  // namespace

double AdaptiveSplit(std::vector<std::pair<double, double>> busy) {
  std::erase(busy, std::pair<double, double>(0, 0));
  const auto longest = [&](double x) {
    double most = 0;
    for (const auto& [a, b] : busy) most = std::max(most, x * a + (1 - x) * b);
    return most;
  };
  double low = 0;
  double high = 1;
  for (int i = 0; i < 100; ++i) {
    const double left = low + (high - low) / 3;
    const double right = high - (high - low) / 3;
    if (longest(left) < longest(right) * (1 - kRounding)) {
      high = right;
    } else {
      low = left;
    }
  }
  return longest(1) * (1 - kRounding) <= longest(low) ? 1.0 : low;
}

double AdaptiveSplit(const Graph& graph, absl::Span<const Demand> demands,
                     absl::Span<const Route> minimal,
                     absl::Span<const Route> detours) {
  std::vector<std::pair<double, double>> busy(graph.link_count());
  for (size_t i = 0; i < demands.size(); ++i) {
    for (const LinkShare& l : minimal[i].links) {
      busy[Index(l.link)].first +=
          l.share * demands[i].bytes / graph.link(l.link).bandwidth.value();
    }
    for (const LinkShare& l : detours[i].links) {
      busy[Index(l.link)].second +=
          l.share * demands[i].bytes / graph.link(l.link).bandwidth.value();
    }
  }
  return AdaptiveSplit(std::move(busy));
}

double AdaptiveSplit(const Graph& graph, absl::Span<const double> minimal,
                     absl::Span<const double> detours) {
  std::vector<std::pair<double, double>> busy;
  for (const LinkId id : graph.links()) {
    const double bandwidth = graph.link(id).bandwidth.value();
    busy.emplace_back(minimal[Index(id)] / bandwidth,
                      detours[Index(id)] / bandwidth);
  }
  return AdaptiveSplit(std::move(busy));
}

}  // namespace orrery
