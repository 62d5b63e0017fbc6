#include "sim/folding/network_symmetry.h"

#include "base/format.h"
#include "topology/routing/route.h"

namespace orrery {

std::optional<std::string> NetworkAsymmetry(const System& system,
                                            Arbitration arbitration) {
  if (!system.faults().empty()) {
    return "links that are cut or slow tell chips apart";
  }
  if (arbitration == Arbitration::kPortFair) {
    return "switches that arbitrate by port tell one group from many";
  }
  if (!system.scale_out()) return std::nullopt;
  const Routing routing = system.scale_out()->fabric.routing;
  switch (routing) {
    case Routing::kMinimal:
    case Routing::kEcmp:
    case Routing::kValiant:
    case Routing::kAdaptive:
      return fmt::format("{} routing between nodes tells pairs of them apart",
                         RoutingName(routing));
    case Routing::kDimensionOrdered:
    case Routing::kSpray:
      break;
  }
  return std::nullopt;
}

std::optional<std::string> TrafficAsymmetry(const System& system,
                                            const Degrees& degrees) {
  const auto& up = system.scale_up();
  if (up && up->spans_nodes &&
      !std::holds_alternative<SwitchFabric>(up->fabric.kind)) {
    return "groups may meet different traffic in a network of chips";
  }
  const auto& out = system.scale_out();
  if (out && out->nics_per_node < system.chips_per_node() &&
      degrees.order != Degrees().order) {
    return "groups may meet different traffic on NICs that chips share";
  }
  return std::nullopt;
}

}  // namespace orrery
