#pragma once
// By which ports the traffic of a route enters the links it takes, for
// arbitration port by port (sim/sharing/port_fair.h).
#include <absl/types/span.h>

#include <vector>

#include "sim/network/network_resources.h"
#include "sim/sharing/transfer_plan.h"
#include "topology/graph/graph.h"
#include "topology/routing/shortest_paths.h"

namespace orrery {

// What goes on from a vertex came in by the links that lead there, in
// proportion to what they carry. In the order of resources and ports.
std::vector<PortUse> PortsOf(const Graph& graph,
                             const NetworkResources& resources,
                             absl::Span<const LinkShare> links);

}  // namespace orrery
