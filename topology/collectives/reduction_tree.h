#pragma once
// ReductionTree: the switches of a fabric that add up for a group (SHARP).
//
// Each rank sends to the leaf its shared segment leads to; leaves send on to a
// switch above that all of them reach, tier by tier, until one has everything;
// results come down the same way (Graham et al., "Scalable hierarchical
// aggregation protocol", COMHPC 2016). A switch of the tree is one vertex, or,
// where the fabric sprays, all that could take its place, each for its part of
// the data.
//
// Ranks on islands of G have a tree per place, over the ranks of that place:
// on rails such a tree is one leaf, as long as the leaf has the ports.
#include <absl/types/span.h>

#include <optional>
#include <vector>

#include "topology/graph/graph.h"
#include "topology/routing/shared_segment.h"

namespace orrery {

struct ReductionTree {
  // Of every rank, then of every switch: the switch it sends to, numbered after
  // the ranks; -1 for a root.
  std::vector<int32_t> parents;
  // The vertices of each switch.
  std::vector<std::vector<VertexId>> switches;
};

// `chips` in the order of the layout, `island_size` of them on each island (0
// or 1: one tree for all). `spread`: over all switches of a tier that will do;
// else one of them: the trees of a group take different ones as long as there
// are enough. Nothing where a chip has no single leaf, or no switches join the
// leaves tier by tier.
std::optional<ReductionTree> FindReductionTree(const Graph& graph,
                                               SharedSegments& segments,
                                               absl::Span<const VertexId> chips,
                                               int32_t island_size,
                                               bool spread);

}  // namespace orrery
