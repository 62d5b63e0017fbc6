#pragma once
// NodeResources: the links of nodes, which are all built alike, so that what a
// group does to the links of its nodes it does to those of any others that lie
// to each other as they do.
//
// The links of a node are those inside its island and those that end at its
// chips or NICs. Two groups lie alike if their members, in order, have the same
// places in nodes, and are on the same nodes, leaves and pods of the fabric as
// each other.
//
// Nodes with a link that is cut or slow are unlike others: groups on them lie
// like no other.
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/network/collective_plan.h"
#include "sim/network/network.h"
#include "topology/machine/system.h"

namespace orrery {

// A link of a group by whose it is (a member's number in the group, or a chip
// of a grid), and which of those.
struct LinkPlace {
  int32_t of;
  int32_t place;
};

class NodeResources {
 public:
  // Both must outlive it.
  NodeResources(const System& system, const Network& network);

  // Whether all members are on nodes whose links are whole, so that no way
  // between them meets one that is not: fabrics that span nodes have none such.
  bool OnWholeNodes(const std::vector<int>& chips) const;
  // How a group lies; the same of groups that lie alike. Of a group on one node
  // its places say it all.
  std::vector<int32_t> ShapeOf(const std::vector<int>& chips) const;
  bool OnOneNode(const std::vector<int>& chips) const;
  // Of that, what does not depend on places in nodes: which members share a
  // node, a leaf, a pod, and their order.
  std::vector<int32_t> SharedPlaces(const std::vector<int>& chips) const;

  // Whether no chip of a node is nearer to other nodes than the rest of it: who
  // shares a leaf or a pod with another node does so with all of its chips.
  bool NodesKeepToLeaves() const;

  // Whether a resource is of a node.
  bool Holds(ResourceId resource) const { return place_[resource] >= 0; }
  // Whether a plan uses nothing but links of nodes.
  bool Holds(const PlanSteps& plan) const;

  // Where resources are on the nodes of a group; nothing if one is on none of
  // them.
  std::optional<std::vector<LinkPlace>> PlacesOf(
      absl::Span<const ResourceId> resources,
      const std::vector<int>& members) const;
  // What is there on the nodes of a group that lies like it.
  ResourceId At(const LinkPlace& place, const std::vector<int>& members) const {
    const int chip = members[static_cast<size_t>(place.of)];
    return of_node_[static_cast<size_t>(NodeOf(chip))]
                   [static_cast<size_t>(place.place)];
  }

 private:
  int32_t NodeOf(int chip) const { return chip / chips_per_node_; }

  int32_t chips_per_node_;
  std::vector<char> faulty_;  // by node; empty if all links are whole
  IdVector<ResourceId, int32_t> node_;
  IdVector<ResourceId, int32_t> place_;           // among those of its node
  std::vector<std::vector<ResourceId>> of_node_;  // by place
  // By chip: the leaves of its NICs, and their lowest switches above.
  std::vector<std::vector<int32_t>> leaves_;
  std::vector<std::vector<int32_t>> pods_;
};

// Places of members in ascending order of chips.
std::vector<int32_t> OrderOf(const std::vector<int>& chips);

}  // namespace orrery
