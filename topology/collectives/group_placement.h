#pragma once
// GroupPlacement: where the members of a group sit, and what an algorithm can
// make of it.
//
// Members are put in an order that collectives like: island after island, and
// on a grid first side fastest. A group with the same number of chips on each
// of several islands is laid out in islands, with or without links of their own
// between the chips of one; where the numbers differ, lanes enter each island
// at as many NICs as the poorest of them has; one that fills a box of a torus
// or mesh, at regular distances, has its sides as a grid of rings and lines.
// Other groups, however scattered, are just ranks.
#include <absl/types/span.h>

#include <vector>

#include "topology/collectives/collective.h"
#include "topology/graph/graph.h"

namespace orrery {

struct GroupPlacement {
  GroupLayout layout;
  // Rank r of the layout is this chip.
  std::vector<VertexId> chips;
  // The switches of the island that holds the whole group; empty if none does.
  std::vector<VertexId> island_switches;
  // The vertices of each switch of `layout.tree_parents`; PlaceGroup leaves
  // both empty, see reduction_tree.h.
  std::vector<std::vector<VertexId>> tree_switches = {};
  // Of a group laid out in several islands, the switches that join its members
  // on each; PlaceGroup leaves it empty, see SwitchesOfIslands.
  std::vector<std::vector<VertexId>> switches_of_islands = {};
};

// Requires: at least one chip, no chip twice.
GroupPlacement PlaceGroup(const Graph& graph, absl::Span<const VertexId> chips);

// The switches that all of `island_size` chips reach in one hop, for every
// island of `chips`; empty if an island has none.
std::vector<std::vector<VertexId>> SwitchesOfIslands(
    const Graph& graph, absl::Span<const VertexId> chips, int32_t island_size);

}  // namespace orrery
