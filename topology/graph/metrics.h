#pragma once
// What a fabric amounts to, counted on its graph: switches, cables, ports,
// diameter, bisection, injection. What the tests of generators go by.
#include "topology/graph/graph.h"

namespace orrery {

int64_t SwitchCount(const Graph& graph);
// Cables, both directions of one counted once.
int64_t CableCount(const Graph& graph);
// The most cables on any one switch.
int64_t LargestRadix(const Graph& graph);

// The most links on a shortest way between two chips. Cost: O(chips x links).
// Requires: every chip reaches every other.
int32_t Diameter(const Graph& graph);

// What one half of the chips can send to the other half, one direction: the
// minimum cut between the halves, smallest over the natural halvings (by chip
// number, and across every dimension of a grid that holds all chips). An odd
// middle layer belongs to neither half. Cost: a maximum flow per halving.
BytesPerSecond Bisection(const Graph& graph);

// The same between whole nodes of so many chips each, the first half of them
// and the last: an odd node in the middle belongs to neither.
BytesPerSecond BisectionOfNodes(const Graph& graph, int chips_per_node);

// What all chips together can send, one direction; and of that into NICs.
BytesPerSecond Injection(const Graph& graph);
BytesPerSecond NicInjection(const Graph& graph);

}  // namespace orrery
