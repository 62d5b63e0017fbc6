#include "sim/network/network.h"

#include <utility>
#include <variant>

#include "base/status.h"
#include "topology/graph/build.h"

namespace orrery {
namespace {

Routing RoutingOf(const System& system) {
  if (system.scale_out()) return system.scale_out()->fabric.routing;
  if (system.scale_up()) return system.scale_up()->fabric.routing;
  return Routing::kSpray;
}

bool IslandSprays(const System& system) {
  return system.scale_up() &&
         std::holds_alternative<SwitchFabric>(system.scale_up()->fabric.kind);
}

}  // namespace

Network::Network(const System& system, Graph graph)
    : graph_(std::make_unique<const Graph>(std::move(graph))),
      resources_(*graph_, IslandSprays(system)),
      routing_(RoutingOf(system)),
      switches_(system),
      library_(system.collectives()) {}

absl::StatusOr<Network> Network::Make(const System& system) {
  ASSIGN_OR_RETURN(Graph graph, BuildGraph(system));
  return Network(system, std::move(graph));
}

}  // namespace orrery
