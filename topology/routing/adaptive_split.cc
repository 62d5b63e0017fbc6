#include "topology/routing/adaptive_split.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace orrery {

double AdaptiveSplit(const Graph& graph, absl::Span<const Demand> demands,
                     absl::Span<const Route> minimal,
                     absl::Span<const Route> detours) {
  // Seconds each link is busy under either set alone.
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
    if (longest(left) < longest(right)) {
      high = right;
    } else {
      low = left;
    }
  }
  return longest(1) <= longest(low) ? 1.0 : low;
}

}  // namespace orrery
