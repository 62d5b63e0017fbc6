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
#include <absl/container/flat_hash_map.h>

#include <vector>

#include "sim/network/collective_plan.h"
#include "sim/network/network.h"
#include "topology/machine/system.h"

namespace orrery {

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

  // Nodes of one group as those of another that lies like it.
  using NodeMap = absl::flat_hash_map<int32_t, int32_t>;
  NodeMap MapOf(const std::vector<int>& from, const std::vector<int>& to) const;
  // What `resource` is in the mapped node. Requires: Holds(resource).
  ResourceId Moved(ResourceId resource, const NodeMap& nodes) const;

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
