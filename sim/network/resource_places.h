#pragma once
// Links as people know them: by the chip they belong to, or by the tiers of the
// switches they join.
//
//   chip 5's "NVLink4 out", "NVLink4 in", "NIC out", "NIC in", and of its NIC
//   "NDR out", "NDR in"; "NDR tier 1 switch 3 to tier 2 switch 0"
//
// Switches are counted within their tier.
#include <optional>
#include <string>

#include "base/ids.h"
#include "sim/sharing/transfer_plan.h"
#include "topology/graph/graph.h"
#include "topology/graph/link_tiers.h"

namespace orrery {

class ResourcePlaces {
 public:
  // Both must outlive this. Cost: O(links).
  ResourcePlaces(const Graph& graph, const LinkTiers& tiers);

  ResourcePlace of(LinkId link) const;

 private:
  std::optional<int32_t> ChipOf(VertexId id) const;
  std::string Name(VertexId id) const;

  const Graph& graph_;
  const LinkTiers& tiers_;
  IdVector<VertexId, int32_t> number_;  // of switches, within their tier
};

}  // namespace orrery
