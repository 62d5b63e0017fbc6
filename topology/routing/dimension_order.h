#pragma once
// Dimension-ordered routes through a mesh, torus or HyperX.
#include <vector>

#include "topology/graph/graph.h"
#include "topology/routing/shortest_paths.h"

namespace orrery {

// The links from `from` to `to`, first dimension first: straight to the
// coordinate (HyperX), or step by step the shorter way around, half each way
// where both are as long. End points hang on their routers by one link. Empty
// if the two are in no common grid, if the grid is twisted, or if a link on the
// way is cut.
std::vector<LinkShare> DimensionOrder(const Graph& graph, VertexId from,
                                      VertexId to);

}  // namespace orrery
