#include "sim/folding/folding.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "sim/folding/network_symmetry.h"
#include "sim/folding/symmetry.h"
#include "workload/plan/placement.h"

namespace orrery {
namespace {

// Between the nodes there is room for everybody: what other nodes send does not
// slow down this one.
bool NetworkNeverBlocks(const System& system) {
  if (system.scale_up() && system.scale_up()->spans_nodes) return false;
  if (!system.scale_out()) return true;
  const FabricKind& kind = system.scale_out()->fabric.kind;
  if (const auto* tree = std::get_if<FatTreeFabric>(&kind)) {
    return tree->taper <= 1;
  }
  if (const auto* rails = std::get_if<RailOptimizedFabric>(&kind)) {
    return rails->taper <= 1;
  }
  return std::holds_alternative<SwitchFabric>(kind) ||
         std::holds_alternative<FullyConnectedFabric>(kind);
}

// A chip has its port into the island and its NIC to itself.
bool PortsArePrivate(const System& system) {
  const bool island =
      !system.scale_up() ||
      std::holds_alternative<SwitchFabric>(system.scale_up()->fabric.kind);
  return island && (!system.scale_out() || system.scale_out()->nics_per_node >=
                                               system.chips_per_node());
}

}  // namespace

std::optional<std::string> WhyNotFold(const ParallelLayout& layout,
                                      const System& system,
                                      Arbitration arbitration, bool nearly) {
  std::optional<std::string> why =
      Asymmetry(layout, Placement(layout), system.chips_per_node());
  if (!why) why = NetworkAsymmetry(system, arbitration);
  if (!why && !nearly) why = TrafficAsymmetry(system, layout.degrees);
  return why;
}

void KeepNeighbours(const System& system,
                    IdVector<GroupId, PlacedGroup>& groups) {
  if (!NetworkNeverBlocks(system)) return;
  if (PortsArePrivate(system)) {
    for (PlacedGroup& group : groups) group.replicas = {group.members};
    return;
  }
  const int node = system.chips_per_node();
  std::vector<bool> own(static_cast<size_t>(system.nodes()));
  for (PlacedGroup& group : groups) {
    const auto at = [&](int rank) { return static_cast<size_t>(rank / node); };
    for (const int rank : group.members) own[at(rank)] = true;
    std::erase_if(group.replicas, [&](const std::vector<int>& members) {
      return std::none_of(members.begin(), members.end(),
                          [&](int rank) { return own[at(rank)]; });
    });
    for (const int rank : group.members) own[at(rank)] = false;
  }
}

}  // namespace orrery
