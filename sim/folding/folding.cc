#include "sim/folding/folding.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "sim/folding/network_symmetry.h"
#include "sim/folding/symmetry.h"
#include "workload/plan/placement.h"

namespace orrery {
namespace {

// Leaves the replicas that share a node with their group.
void KeepNeighbours(int chips_per_node, PlacedGroup& group,
                    std::vector<bool>& own) {
  const auto at = [&](int chip) {
    return static_cast<size_t>(chip / chips_per_node);
  };
  for (const int chip : group.members) own[at(chip)] = true;
  std::erase_if(group.replicas, [&](const std::vector<int>& members) {
    return std::none_of(members.begin(), members.end(),
                        [&](int chip) { return own[at(chip)]; });
  });
  for (const int chip : group.members) own[at(chip)] = false;
}

}  // namespace

std::optional<std::string> WhyNotFold(const ParallelLayout& layout,
                                      const System& system,
                                      Arbitration arbitration) {
  std::optional<std::string> why =
      Asymmetry(layout, Placement(layout), system.chips_per_node());
  return why ? why : NetworkAsymmetry(system, arbitration);
}

absl::StatusOr<std::optional<std::string>> TrimReplicas(PlacedProgram& placed,
                                                        const System& system,
                                                        CallPlanner& planner) {
  CHECK(placed.folded);
  ASSIGN_OR_RETURN(FoldingVerdict verdict,
                   CompareReplicas(placed, system, planner));
  if (verdict.difference) return std::move(verdict.difference);
  std::vector<bool> own(static_cast<size_t>(system.nodes()));
  for (PlacedGroup& group : placed.groups) {
    switch (verdict.kept) {
      case KeptReplicas::kNone:
        group.replicas = {group.members};
        break;
      case KeptReplicas::kNeighbours:
        KeepNeighbours(system.chips_per_node(), group, own);
        break;
      case KeptReplicas::kAll:
        break;
    }
  }
  return std::optional<std::string>();
}

}  // namespace orrery
