#pragma once
// The split between two sets of routes that spreads the load best.
#include <absl/types/span.h>

#include <utility>
#include <vector>

#include "topology/graph/graph.h"
#include "topology/routing/route.h"

namespace orrery {

// The share x in [0, 1] of every demand that should take its route in
// `minimal`, the rest taking `detours`, such that the longest time any link is
// busy (bytes over bandwidth) is smallest. That maximum is convex in x: the
// minimum is found by ternary search, and of equal ones the largest x is taken.
double AdaptiveSplit(const Graph& graph, absl::Span<const Demand> demands,
                     absl::Span<const Route> minimal,
                     absl::Span<const Route> detours);

// The same given the seconds that each link is busy under either set alone:
// minimal first.
double AdaptiveSplit(std::vector<std::pair<double, double>> busy);

// The same given what all demands put on every link, by link.
double AdaptiveSplit(const Graph& graph, absl::Span<const double> minimal,
                     absl::Span<const double> detours);

}  // namespace orrery
