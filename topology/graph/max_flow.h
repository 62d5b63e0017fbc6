#pragma once
// Maximum flow from a set of vertices to another: by the max-flow min-cut
// theorem the capacity of the smallest cut between them.
//
// Dinic's algorithm (1970). Cost: O(vertices^2 links) at worst, near linear on
// the shallow graphs of fabrics.
#include <absl/types/span.h>

#include "topology/graph/graph.h"

namespace orrery {

// Requires: `sources` and `sinks` are disjoint and not empty.
BytesPerSecond MaxFlow(const Graph& graph, absl::Span<const VertexId> sources,
                       absl::Span<const VertexId> sinks);

}  // namespace orrery
