#pragma once
// An exchange on a grid with dimension order, line by line (exchange_routes.h).
#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <optional>

#include "topology/graph/graph.h"

namespace orrery {

// Calls `add` for every link with the units it carries if every one of `chips`
// sends one unit to every other, and returns the latency of the farthest pair's
// links; nothing, after any number of calls, where the chips are on no grid
// that has an order of dimensions, or a link is missing. Cost: the positions of
// the grid times a side.
std::optional<Duration> ExchangeOnGrid(
    const Graph& graph, absl::Span<const VertexId> chips,
    absl::FunctionRef<void(LinkId, double)> add);

}  // namespace orrery
