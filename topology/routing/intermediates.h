#pragma once
// Intermediates: the chips that Valiant routes go by.
//
// Inside an island a third chip of it, between islands a chip of a third
// island, elsewhere any third chip: fixed by a hash of the pair and the flow
// (route_hash.h), each as likely as any other.
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "topology/graph/graph.h"
#include "topology/routing/route_hash.h"

namespace orrery {

class Intermediates {
 public:
  explicit Intermediates(const Graph& graph);

  // Nothing if there is none. Requires: two different chips.
  std::optional<VertexId> Of(VertexId from, VertexId to, uint64_t flow) const {
    return Picked(from, to, FlowHash(SourceHash(from), to, flow));
  }

  // The same of flow 0 from one chip to many; false if there is none for some.
  // Requires: as many places; of all or of none `from` is on the same island.
  bool FindAll(VertexId from, absl::Span<const VertexId> to,
               absl::Span<VertexId> by) const;

 private:
  std::optional<VertexId> Picked(VertexId from, VertexId to,
                                 uint64_t flow_hash) const {
    const int32_t home = island_[from];
    const int32_t away = island_[to];
    const bool inside = home >= 0 && home == away;
    const std::vector<VertexId>& chips =
        inside ? island_chips_[static_cast<size_t>(home)] : chips_;
    if (chips.size() <= 2) return std::nullopt;
    // Between islands an end's own island is no detour.
    const bool elsewhere = !inside && home >= 0 && away >= 0;
    if (elsewhere && islands_ <= 2) return std::nullopt;
    const size_t count = chips.size();
    const bool even = (count & (count - 1)) == 0;
    uint64_t hash = ChoiceHash(flow_hash, 0);
    while (true) {
      hash = MixRoute(hash);
      // A division takes longer than the rest.
      const VertexId by = chips[even ? hash & (count - 1) : hash % count];
      if (by == from || by == to) continue;
      if (elsewhere && (island_[by] == home || island_[by] == away)) continue;
      return by;
    }
  }

  std::vector<VertexId> chips_;
  // Of chips, or -1.
  IdVector<VertexId, int32_t> island_;
  std::vector<std::vector<VertexId>> island_chips_;
  int islands_ = 0;  // that have chips
};

}  // namespace orrery
