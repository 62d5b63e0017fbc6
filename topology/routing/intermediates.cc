#include "topology/routing/intermediates.h"

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

}  // namespace orrery
