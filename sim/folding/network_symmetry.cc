#include "sim/folding/network_symmetry.h"

#include "base/format.h"
#include "topology/routing/route.h"

namespace orrery {

std::optional<std::string> NetworkAsymmetry(const System& system) {
  // Which ways adaptive routes take depends on all who are on theirs; a hash of
  // the pair gives the same places of two islands different ways.
  if (system.scale_up()) {
    const Routing inside = system.scale_up()->fabric.routing;
    if (inside == Routing::kAdaptive || inside == Routing::kValiant ||
        inside == Routing::kEcmp) {
      return fmt::format("{} routing within nodes tells pairs of chips apart",
                         RoutingName(inside));
    }
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

}  // namespace orrery
