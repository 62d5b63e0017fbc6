#pragma once
// Where links stand in a machine, for people: which network they belong to and
// which tiers they join.
//
//   "scale-up: NVLink, chip to switch"
//   "scale-out: NIC, chip to NIC"
//   "scale-out: InfiniBand, NIC to tier 1"
//   "scale-out: InfiniBand, tier 1 to tier 2"
//
// The two directions of a link are of one class. A tier is the number of
// switches from the nearest NIC on.
#include <string>

#include "base/ids.h"
#include "topology/graph/graph.h"

namespace orrery {

// The lower end first: chips, then NICs, then switches from tier 1 up.
struct LinkTier {
  struct End {
    VertexKind kind{};
    int32_t tier = 0;  // of a scale-out switch; 0: any other vertex
    friend auto operator<=>(const End&, const End&) = default;
  };
  LinkClassId name{};
  End low;
  End high;
  friend auto operator<=>(const LinkTier&, const LinkTier&) = default;
};

class LinkTiers {
 public:
  // The graph must outlive this. Cost: O(links).
  explicit LinkTiers(const Graph& graph);

  LinkTier of(LinkId link) const;
  // Of a scale-out switch; 0 of any other vertex.
  int32_t tier(VertexId id) const { return hops_[id] < 0 ? 0 : hops_[id]; }
  std::string Name(const LinkTier& tier) const;

 private:
  const Graph& graph_;
  IdVector<VertexId, int32_t> hops_;  // from the nearest NIC
};

}  // namespace orrery
