#include "sim/folding/replica_shapes.h"

#include <utility>
#include <variant>

namespace orrery {
namespace {

// Whether groups that lie alike on nodes of a tree, or of one switch, are
// planned alike, as they are if the tree is even and sprayed over.
bool LikeNodesAreAlike(const System& system) {
  return system.scale_out() && !std::holds_alternative<FullyConnectedFabric>(
                                   system.scale_out()->fabric.kind);
}

// Whether what is routed inside a node is routed so inside every other: no hash
// tells pairs apart.
bool SameOnEveryNode(const System& system) {
  if (!system.scale_up()) return true;
  const Routing routing = system.scale_up()->fabric.routing;
  return routing != Routing::kEcmp && routing != Routing::kValiant &&
         routing != Routing::kAdaptive;
}

}  // namespace

ReplicaShapes::ReplicaShapes(const System& system, const Network& network,
                             bool never_blocks)
    : nodes_(system, network),
      like_nodes_(never_blocks && LikeNodesAreAlike(system)),
      by_shape_(like_nodes_ && SameOnEveryNode(system)),
      one_island_((!system.scale_up() || !system.scale_up()->spans_nodes) &&
                  SameOnEveryNode(system)),
      chips_(system, network, nodes_, like_nodes_) {}

void ReplicaShapes::LookAt(const std::vector<std::vector<int>>& replicas) {
  if (replicas_ == &replicas) return;
  replicas_ = &replicas;
  by_chips_.assign(replicas.size(), kUnknown);
  by_nodes_.assign(replicas.size(), kUnknown);
  chip_shapes_.clear();
  node_shapes_.clear();
}

int32_t ReplicaShapes::NumberOf(std::vector<int32_t> shape, Numbers& numbers) {
  const auto next = static_cast<int32_t>(numbers.size());
  return numbers.try_emplace(std::move(shape), next).first->second;
}

std::optional<int32_t> ReplicaShapes::ByChips(size_t replica) {
  int32_t& number = by_chips_[replica];
  if (number == kUnknown) {
    std::optional<std::vector<int32_t>> shape =
        chips_.ShapeOf((*replicas_)[replica]);
    number = shape ? NumberOf(*std::move(shape), chip_shapes_) : kNone;
  }
  return number == kNone ? std::nullopt : std::optional(number);
}

std::optional<int32_t> ReplicaShapes::ByNodes(size_t replica) {
  int32_t& number = by_nodes_[replica];
  if (number == kUnknown) {
    const std::vector<int>& members = (*replicas_)[replica];
    const bool has_shape =
        (by_shape_ || (one_island_ && nodes_.OnOneNode(members))) &&
        nodes_.OnWholeNodes(members);
    number =
        has_shape ? NumberOf(nodes_.ShapeOf(members), node_shapes_) : kNone;
  }
  return number == kNone ? std::nullopt : std::optional(number);
}

std::optional<ReplicaShapes::Movable> ReplicaShapes::MovableUses(
    size_t replica, const PlanSteps& plan,
    const IdVector<ResourceId, char>& counts) {
  const std::vector<int>& members = (*replicas_)[replica];
  Movable movable = {false, replica, {}};
  std::vector<ResourceId> resources;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    for (const ResourceUse& use : plan.steps[s].uses) {
      if (!counts[use.resource]) continue;
      movable.uses.push_back({static_cast<int32_t>(s), use.weight, {}});
      resources.push_back(use.resource);
    }
  }
  std::optional<std::vector<LinkPlace>> places;
  if (ByChips(replica)) places = chips_.PlacesOf(resources, members);
  movable.by_chips = places.has_value();
  if (!places && ByNodes(replica) && (by_shape_ || nodes_.Holds(plan))) {
    places = nodes_.PlacesOf(resources, members);
  }
  if (!places) return std::nullopt;
  for (size_t i = 0; i < places->size(); ++i) {
    movable.uses[i].place = (*places)[i];
  }
  return movable;
}

}  // namespace orrery
