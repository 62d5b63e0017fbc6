#include <variant>

#include "sim/folding/replica_loads.h"

namespace orrery {

bool NeverBlocks(const System& system, const Graph& graph) {
  if (!system.scale_out()) return true;
  const Fabric& fabric = system.scale_out()->fabric;
  if (fabric.routing != Routing::kSpray) return false;
  if (std::holds_alternative<SwitchFabric>(fabric.kind) ||
      std::holds_alternative<FullyConnectedFabric>(fabric.kind)) {
    return true;  // no link joins two switches
  }
  if (!std::holds_alternative<FatTreeFabric>(fabric.kind) &&
      !std::holds_alternative<RailOptimizedFabric>(fabric.kind)) {
    return false;
  }
  // Tiers from the NICs up. The generator deals cables evenly, so that a spray
  // loads all links up from a switch alike, and all links down to one.
  const IdVector<VertexId, int32_t> hops = HopsFrom(
      graph, VertexKind::kNic,
      [&](VertexId v) { return graph.kind(v) == VertexKind::kSwitch; });
  for (VertexId v : graph.vertices()) {
    if (graph.kind(v) != VertexKind::kSwitch || hops[v] < 1) continue;
    double below = 0;
    double above = 0;
    for (LinkId id : graph.entering(v)) {
      const Link& link = graph.link(id);
      (hops[link.from] < hops[v] ? below : above) += link.bandwidth.value();
    }
    constexpr double kRounding = 1e-9;
    if (above > 0 && above < below * (1 - kRounding)) return false;
  }
  return true;
}

}  // namespace orrery
