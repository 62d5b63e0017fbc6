#pragma once
// The graph of a whole machine: islands inside, the scale-out fabric between.
//
// Chips come first, node after node: chip i is vertex i. Then the switches of
// the islands, then NICs (NIC i of node n is the n x nics_per_node + i-th),
// then the switches between nodes. A chip uses the NICs of its own share: with
// fewer NICs than chips neighbours share one, with more each chip has several.
//
//   ASSIGN_OR_RETURN(const Graph graph, BuildGraph(system));
//
// Cost: 100 000 chips in well under a second and a few hundred MB.
#include <absl/status/statusor.h>

#include "topology/graph/graph.h"
#include "topology/machine/fabric.h"
#include "topology/machine/system.h"

namespace orrery {

// Faults of the system are applied: a degraded link keeps its place with less
// bandwidth, a cut one is gone.
absl::StatusOr<Graph> BuildGraph(const System& system);

// Wires `points` by one fabric. `rails` is the number of end points that an
// island contributes, for the rail fabrics.
absl::Status AddFabric(GraphBuilder& builder, absl::Span<const VertexId> points,
                       const Fabric& fabric, int32_t rails);

// One fabric by itself, with `endpoints` chips.
absl::StatusOr<Graph> BuildFabric(const Fabric& fabric, int32_t rails = 1);

}  // namespace orrery
