#include "topology/routing/intermediates.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "topology/routing/flow_hashes.h"

namespace orrery {

Intermediates::Intermediates(const Graph& graph)
    : chips_(Chips(graph)), island_(graph.vertex_count(), -1) {
  for (const VertexId chip : chips_) {
    const std::optional<int32_t> island = graph.island(chip);
    if (!island) continue;
    island_[chip] = *island;
    const auto place = static_cast<size_t>(*island);
    if (island_chips_.size() <= place) island_chips_.resize(place + 1);
    if (island_chips_[place].empty()) ++islands_;
    island_chips_[place].push_back(chip);
  }
}

bool Intermediates::FindAll(VertexId from, absl::Span<const VertexId> to,
                            absl::Span<VertexId> by) const {
  CHECK_EQ(to.size(), by.size());
  if (to.empty()) return true;
  const int32_t home = island_[from];
  const bool inside = home >= 0 && home == island_[to[0]];
  const std::vector<VertexId>& chips =
      inside ? island_chips_[static_cast<size_t>(home)] : chips_;
  const size_t count = chips.size();
  if (count <= 2) return false;
  const bool even = (count & (count - 1)) == 0;
  // Chips come first among vertices.
  const bool numbered = !inside && Index(chips.back()) + 1 == count;
  constexpr size_t kAtOnce = 256;
  std::array<uint64_t, kAtOnce> hashes;
  for (size_t begin = 0; begin < to.size(); begin += kAtOnce) {
    const size_t here = std::min(kAtOnce, to.size() - begin);
    const VertexId* const ends = to.data() + begin;
    VertexId* const picks = by.data() + begin;
    HashIntermediates(from, {ends, here}, absl::MakeSpan(hashes.data(), here));
    bool taken = false;
    const auto pick = [&](size_t i, VertexId picked) {
      picks[i] = picked;
      taken |= picked == from || picked == ends[i];
    };
    if (even && numbered) {
      for (size_t i = 0; i < here; ++i) {
        pick(i, static_cast<VertexId>(hashes[i] & (count - 1)));
      }
    } else {
      for (size_t i = 0; i < here; ++i) {
        pick(i, chips[even ? hashes[i] & (count - 1) : hashes[i] % count]);
      }
    }
    const bool elsewhere = !inside && home >= 0;
    if (!taken && !elsewhere) continue;
    for (size_t i = 0; i < here; ++i) {
      const int32_t island = island_[picks[i]];
      if (picks[i] != from && picks[i] != ends[i] &&
          !(elsewhere && (island == home || island == island_[ends[i]]))) {
        continue;
      }
      const std::optional<VertexId> other = Of(from, ends[i], /*flow=*/0);
      if (!other) return false;
      picks[i] = *other;
    }
  }
  return true;
}

}  // namespace orrery
