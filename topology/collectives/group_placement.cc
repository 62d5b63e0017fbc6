#include "topology/collectives/group_placement.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace orrery {
namespace {

// The number of members on every island if it is the same, else 0. Members are
// in order of their islands.
int32_t IslandSize(const Graph& graph, absl::Span<const VertexId> chips) {
  int32_t size = 0;
  for (size_t begin = 0; begin < chips.size();) {
    const std::optional<int32_t> island = graph.island(chips[begin]);
    if (!island) return 0;
    size_t end = begin;
    while (end < chips.size() && graph.island(chips[end]) == island) ++end;
    const int32_t here = static_cast<int32_t>(end - begin);
    if (size != 0 && here != size) return 0;
    size = here;
    begin = end;
  }
  return size;
}

// The sides of the box of whole rings that the members fill, if they do.
std::vector<int32_t> Sides(const Graph& graph,
                           absl::Span<const VertexId> chips) {
  const GridPlace first = graph.grid_place(chips[0]);
  if (!Graph::InGrid(first)) return {};
  const Grid& grid = graph.grids()[first.grid];
  if (grid.step != Grid::Step::kRing || grid.twisted) return {};
  std::vector<int32_t> sides;
  int64_t stride = 1;
  int64_t product = 1;
  for (size_t d = 0; d < grid.shape.size(); ++d) {
    const int32_t side = grid.shape[d];
    std::vector<bool> seen(static_cast<size_t>(side), false);
    int32_t distinct = 0;
    for (VertexId chip : chips) {
      const GridPlace place = graph.grid_place(chip);
      if (!Graph::InGrid(place) || place.grid != first.grid) return {};
      const size_t x = static_cast<size_t>(place.position / stride % side);
      if (!seen[x]) ++distinct;
      seen[x] = true;
    }
    if (distinct > 1) {
      // Neither part of a ring closes, nor a side with open ends.
      if (distinct != side || !grid.closes(d)) return {};
      sides.push_back(side);
      product *= side;
    }
    stride *= side;
  }
  return product == static_cast<int64_t>(chips.size()) ? sides
                                                       : std::vector<int32_t>();
}

}  // namespace

GroupPlacement PlaceGroup(const Graph& graph,
                          absl::Span<const VertexId> chips) {
  CHECK(!chips.empty());
  GroupPlacement placement;
  placement.chips.assign(chips.begin(), chips.end());
  // Chips are numbered island by island and along grids already.
  std::sort(placement.chips.begin(), placement.chips.end());
  CHECK(std::adjacent_find(placement.chips.begin(), placement.chips.end()) ==
        placement.chips.end())
      << "a chip twice in one group";
  placement.layout.ranks = static_cast<int32_t>(chips.size());
  placement.layout.island_size = IslandSize(graph, placement.chips);
  placement.layout.grid = Sides(graph, placement.chips);
  // A switch that every member reaches in one hop serves them all.
  for (LinkId id : graph.leaving(placement.chips[0])) {
    const VertexId to = graph.link(id).to;
    if (graph.kind(to) != VertexKind::kSwitch) continue;
    const bool serves = std::all_of(
        placement.chips.begin(), placement.chips.end(), [&](VertexId chip) {
          return std::any_of(graph.leaving(chip).begin(),
                             graph.leaving(chip).end(),
                             [&](LinkId l) { return graph.link(l).to == to; });
        });
    if (serves) placement.island_switches.push_back(to);
  }
  return placement;
}

}  // namespace orrery
