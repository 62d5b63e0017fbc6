#include "sim/network/group_placer.h"

#include <algorithm>

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
  const int32_t island = placement.layout.island_size;
  if (network_.switches().island_reduces() &&
      kind == CommunicationKind::kAllReduce && island > 1 &&
      island < placement.layout.ranks) {
    const auto [found, is_new] = islands_.try_emplace(placement.chips);
    if (is_new) {
      found->second =
          SwitchesOfIslands(network_.graph(), placement.chips, island);
    }
    placement.switches_of_islands = found->second;
  }
  if (kind == CommunicationKind::kPointToPoint) {
    // Who sends to whom is the order of the call.
    placement.chips.assign(chips.begin(), chips.end());
    placement.layout = {.ranks = placement.layout.ranks};
  }
  if (kind == CommunicationKind::kBroadcast ||
      kind == CommunicationKind::kReduce) {
    placement.layout.root =
        static_cast<int32_t>(std::lower_bound(placement.chips.begin(),
                                              placement.chips.end(), chips[0]) -
                             placement.chips.begin());
  }
  return placement;
}

}  // namespace orrery
