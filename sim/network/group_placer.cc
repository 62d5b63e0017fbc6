#include "sim/network/group_placer.h"

namespace orrery {

GroupPlacement GroupPlacer::Place(CommunicationKind kind,
                                  absl::Span<const VertexId> chips) {
  GroupPlacement placement = PlaceGroup(network_.graph(), chips);
  if (network_.switches().fabric_reduces() &&
      kind == CommunicationKind::kAllReduce &&
      placement.island_switches.empty()) {
    const auto [found, is_new] = trees_.try_emplace(placement.chips);
    if (is_new) {
      const Routing routing = network_.routing().fabric;
      const bool spread =
          routing == Routing::kSpray || routing == Routing::kAdaptive;
      found->second = FindReductionTree(network_.graph(), router_.segments(),
                                        placement.chips,
                                        placement.layout.island_size, spread);
    }
    if (found->second) {
      placement.layout.tree_parents = found->second->parents;
      placement.tree_switches = found->second->switches;
    }
  }
  if (kind == CommunicationKind::kPointToPoint ||
      kind == CommunicationKind::kBroadcast ||
      kind == CommunicationKind::kReduce) {
    placement.chips.assign(chips.begin(), chips.end());
    placement.layout.island_size = 0;
    placement.layout.grid.clear();
  }
  return placement;
}

}  // namespace orrery
