#include "sim/network/switch_capabilities.h"

#include <variant>

namespace orrery {
namespace {

bool Reduces(const Fabric& fabric) {
  if (const auto* f = std::get_if<SwitchFabric>(&fabric.kind)) {
    return f->reduces;
  }
  if (const auto* f = std::get_if<FatTreeFabric>(&fabric.kind)) {
    return f->reduces;
  }
  if (const auto* f = std::get_if<RailOptimizedFabric>(&fabric.kind)) {
    return f->reduces;
  }
  return false;
}

}  // namespace

SwitchCapabilities::SwitchCapabilities(const System& system) {
  if (system.scale_up()) {
    island_reduces_ = Reduces(system.scale_up()->fabric);
    fabric_reduces_ = island_reduces_ && system.scale_up()->spans_nodes;
  }
  if (system.scale_out()) {
    fabric_reduces_ = Reduces(system.scale_out()->fabric);
  }
}

bool SwitchCapabilities::Join(const GroupPlacement& placement,
                              CollectiveAlgorithm algorithm) const {
  if (algorithm == CollectiveAlgorithm::kSwitchTree) {
    return island_reduces_ && !placement.switches_of_islands.empty();
  }
  if (island_reduces_ && !placement.island_switches.empty()) return true;
  return algorithm == CollectiveAlgorithm::kReductionTree &&
         !placement.tree_switches.empty();
}

}  // namespace orrery
