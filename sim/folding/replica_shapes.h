#pragma once
// ReplicaShapes: which of the groups that one stands for lie alike, so that the
// plan of one tells those of the others.
//
// Two reasons are tried, the links of chips first (chip_links.h), then those of
// nodes (node_resources.h), which are looked at only if asked for.
#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/folding/chip_links.h"
#include "sim/folding/node_resources.h"
#include "sim/network/collective_plan.h"
#include "sim/network/network.h"
#include "topology/machine/system.h"

namespace orrery {

class ReplicaShapes {
 public:
  // Both must outlive it. `never_blocks`: as NeverBlocks says of the system.
  ReplicaShapes(const System& system, const Network& network,
                bool never_blocks);

  // Which groups the next questions are about; must stay as they are.
  void LookAt(const std::vector<std::vector<int>>& replicas);

  // The same number of replicas that lie alike by their chips, or by their
  // nodes; nothing if that tells nothing of one.
  std::optional<int32_t> ByChips(size_t replica);
  std::optional<int32_t> ByNodes(size_t replica);

  // Uses of a replica's plan, by steps, that may be moved to others that lie
  // like it.
  struct Use {
    int32_t step;
    double weight;
    LinkPlace place;
  };
  struct Movable {
    bool by_chips;
    size_t replica;
    std::vector<Use> uses;
  };
  // The uses that `counts` is true of; nothing if there is no like replica that
  // they may be moved to.
  std::optional<Movable> MovableUses(size_t replica, const PlanSteps& plan,
                                     const IdVector<ResourceId, char>& counts);
  // Calls add(resource, step, weight) for what they are at another replica.
  template <class Add>
  void Move(const Movable& movable, size_t replica, Add add) const {
    const std::vector<int>& to = (*replicas_)[replica];
    if (movable.by_chips) {
      const ChipLinks::Map map =
          chips_.MapOf((*replicas_)[movable.replica], to);
      for (const Use& use : movable.uses) {
        add(chips_.At(use.place, map), use.step, use.weight);
      }
    } else {
      for (const Use& use : movable.uses) {
        add(nodes_.At(use.place, to), use.step, use.weight);
      }
    }
  }

 private:
  // Numbers of shapes, in the order in which they were met.
  using Numbers = absl::flat_hash_map<std::vector<int32_t>, int32_t>;
  // What is known of a replica: not looked at, no shape, or a shape.
  static constexpr int32_t kUnknown = -2;
  static constexpr int32_t kNone = -1;
  static int32_t NumberOf(std::vector<int32_t> shape, Numbers& numbers);

  NodeResources nodes_;
  bool like_nodes_;  // the fabric tells nodes that lie alike not apart
  bool by_shape_;    // and whatever is inside them is the same
  bool one_island_;  // what is inside a node stays there, the same in each
  ChipLinks chips_;
  const std::vector<std::vector<int>>* replicas_ = nullptr;
  std::vector<int32_t> by_chips_;
  std::vector<int32_t> by_nodes_;
  Numbers chip_shapes_;
  Numbers node_shapes_;
};

}  // namespace orrery
