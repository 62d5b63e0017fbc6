#include "sim/network/network.h"

#include <utility>
#include <variant>

#include "base/status.h"
#include "topology/graph/build.h"

namespace orrery {
namespace {

// A fabric that spans the nodes is the one between chips without islands.
MachineRouting RoutingOf(const System& system) {
  const auto& up = system.scale_up();
  const auto& out = system.scale_out();
  MachineRouting routing = {Routing::kSpray, Routing::kSpray};
  if (up) routing.island = up->fabric.routing;
  if (out) {
    routing.fabric = out->fabric.routing;
  } else if (up) {
    routing.fabric = up->fabric.routing;
  }
  return routing;
}

// Whether chips use the planes of their switches evenly.
bool IslandSprays(const System& system) {
  if (!system.scale_up()) return false;
  const Fabric& fabric = system.scale_up()->fabric;
  if (!std::holds_alternative<SwitchFabric>(fabric.kind)) return false;
  switch (fabric.routing) {
    case Routing::kSpray:
    case Routing::kValiant:
    case Routing::kAdaptive:
      return true;
    case Routing::kMinimal:
    case Routing::kDimensionOrdered:
    case Routing::kEcmp:
      break;
  }
  return false;
}

// Whether nothing chooses among the switches between chips of different
// islands: a switch that reduces is one of many.
bool FabricSprays(const System& system) {
  return RoutingOf(system).fabric == Routing::kSpray &&
         !SwitchCapabilities(system).fabric_reduces();
}

}  // namespace

Network::Network(const System& system, Graph graph)
    : graph_(std::make_unique<const Graph>(std::move(graph))),
      resources_(*graph_, {.bundle_planes = IslandSprays(system),
                           .sprayed = FabricSprays(system)}),
      routing_(RoutingOf(system)),
      switches_(system),
      library_(system.collectives()) {}

absl::StatusOr<Network> Network::Make(const System& system) {
  ASSIGN_OR_RETURN(Graph graph, BuildGraph(system));
  return Network(system, std::move(graph));
}

}  // namespace orrery
