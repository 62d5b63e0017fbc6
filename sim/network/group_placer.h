#pragma once
// GroupPlacer: where the group of a call sits, as its kind sees it.
//
// A PlaceGroup (topology/collectives/group_placement.h) with the switches of
// the fabric and of islands that reduce for an all-reduce, where there are any.
// Transfers and calls with a root keep their order, the first being the source
// or the root. Switches that were found are kept: one per run, not shared
// between threads.
#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <optional>
#include <vector>

#include "sim/network/network.h"
#include "topology/collectives/group_placement.h"
#include "topology/collectives/reduction_tree.h"
#include "topology/routing/route.h"

namespace orrery {

class GroupPlacer {
 public:
  // Both must outlive it.
  GroupPlacer(const Network& network, Router& router)
      : network_(network), router_(router) {}

  GroupPlacement Place(CommunicationKind kind,
                       absl::Span<const VertexId> chips);

 private:
  const Network& network_;
  Router& router_;
  absl::flat_hash_map<std::vector<VertexId>, std::optional<ReductionTree>>
      trees_;
  absl::flat_hash_map<std::vector<VertexId>, std::vector<std::vector<VertexId>>>
      islands_;
};

}  // namespace orrery
