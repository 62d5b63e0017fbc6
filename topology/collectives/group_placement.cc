#include "topology/collectives/group_placement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

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

// Members of one island, and the first of them on every NIC, by rail: the place
// of the NIC among those of the island.
struct RailMembers {
  IslandPart part;
  std::map<int32_t, int32_t> ranks;
};

std::optional<VertexId> NicOf(const Graph& graph, VertexId chip) {
  for (LinkId id : graph.leaving(chip)) {
    const VertexId to = graph.link(id).to;
    if (graph.kind(to) == VertexKind::kNic) return to;
  }
  return std::nullopt;
}

VertexId FirstOfIsland(const Graph& graph, VertexId chip) {
  const std::optional<int32_t> island = graph.island(chip);
  while (Index(chip) > 0) {
    const auto before = static_cast<VertexId>(Index(chip) - 1);
    if (graph.island(before) != island) break;
    chip = before;
  }
  return chip;
}

// Members are in order of their islands, on each of which there is one.
std::vector<RailMembers> MembersByRail(const Graph& graph,
                                       absl::Span<const VertexId> chips) {
  std::vector<RailMembers> islands;
  std::optional<VertexId> first_nic;
  for (size_t rank = 0; rank < chips.size(); ++rank) {
    const auto number = static_cast<int32_t>(rank);
    if (rank == 0 ||
        graph.island(chips[rank]) != graph.island(chips[rank - 1])) {
      islands.push_back(
          {.part = {.begin = number, .end = number}, .ranks = {}});
      first_nic = NicOf(graph, FirstOfIsland(graph, chips[rank]));
    }
    RailMembers& island = islands.back();
    ++island.part.end;
    const std::optional<VertexId> nic = NicOf(graph, chips[rank]);
    if (!nic) continue;
    const auto rail = static_cast<int32_t>(Index(*nic)) -
                      static_cast<int32_t>(first_nic ? Index(*first_nic) : 0);
    island.ranks.try_emplace(rail, number);
  }
  return islands;
}

// Lanes take the rails that all islands have first, so that crossings stay on
// them; then each island gives what NICs it has left.
std::vector<IslandPart> PartsOf(const Graph& graph,
                                absl::Span<const VertexId> chips) {
  std::vector<RailMembers> islands = MembersByRail(graph, chips);
  size_t lanes = chips.size();
  for (RailMembers& island : islands) {
    // The chips of a whole island without a NIC are reached by way of others.
    if (island.ranks.empty()) island.ranks.emplace(0, island.part.begin);
    lanes = std::min(lanes, island.ranks.size());
  }
  const auto is_common = [&](int32_t rail) {
    return std::all_of(
        islands.begin(), islands.end(),
        [&](const RailMembers& each) { return each.ranks.contains(rail); });
  };
  std::vector<int32_t> common;
  for (const auto& [rail, rank] : islands[0].ranks) {
    if (is_common(rail)) common.push_back(rail);
  }
  std::vector<IslandPart> parts;
  for (RailMembers& island : islands) {
    for (const int32_t rail : common) {
      island.part.gates.push_back(island.ranks[rail]);
      island.ranks.erase(rail);
    }
    for (const auto& [rail, rank] : island.ranks) {
      if (island.part.gates.size() < lanes) island.part.gates.push_back(rank);
    }
    parts.push_back(std::move(island.part));
  }
  return parts;
}

// Whether members of an island, the same number on each, have links of their
// own to each other. On grids links lead to neighbours only.
bool Meshed(const Graph& graph, absl::Span<const VertexId> island) {
  for (VertexId chip : island) {
    if (Graph::InGrid(graph.grid_place(chip))) return false;
    for (LinkId id : graph.leaving(chip)) {
      if (std::binary_search(island.begin(), island.end(), graph.link(id).to)) {
        return true;
      }
    }
  }
  return false;
}

// One side of a box: the coordinates of its members, in order.
struct BoxSide {
  std::vector<int32_t> members;

  // Whether neighbours are as far from each other everywhere.
  bool Regular() const {
    for (size_t i = 2; i < members.size(); ++i) {
      if (members[i] - members[i - 1] != members[1] - members[0]) return false;
    }
    return true;
  }
  // Whether the last is as far from the first, around a ring of `length`.
  bool Closes(int32_t length) const {
    return (members[1] - members[0]) * static_cast<int32_t>(members.size()) ==
           length;
  }
};

// The sides of the box that the members fill, if they do: of rings, or of lines
// where a fabric has no more, or a group takes a part of a ring.
void FindGrid(const Graph& graph, absl::Span<const VertexId> chips,
              GroupLayout& layout) {
  const GridPlace first = graph.grid_place(chips[0]);
  if (!Graph::InGrid(first)) return;
  const Grid& grid = graph.grids()[first.grid];
  if (grid.step == Grid::Step::kAll || grid.twisted) return;
  std::vector<int32_t> sides;
  std::vector<bool> open_sides;
  int64_t stride = 1;
  int64_t product = 1;
  for (size_t d = 0; d < grid.shape.size(); ++d) {
    const int32_t length = grid.shape[d];
    std::vector<bool> seen(static_cast<size_t>(length), false);
    for (VertexId chip : chips) {
      const GridPlace place = graph.grid_place(chip);
      if (!Graph::InGrid(place) || place.grid != first.grid) return;
      seen[static_cast<size_t>(place.position / stride % length)] = true;
    }
    stride *= length;
    BoxSide side;
    for (int32_t x = 0; x < length; ++x) {
      if (seen[static_cast<size_t>(x)]) side.members.push_back(x);
    }
    if (side.members.size() < 2) continue;
    if (!side.Regular()) return;
    const bool rings = grid.closes(d);
    // The way to the next member is not around the ring.
    if (rings && 2 * (side.members[1] - side.members[0]) > length) return;
    sides.push_back(static_cast<int32_t>(side.members.size()));
    open_sides.push_back(!rings || !side.Closes(length));
    product *= sides.back();
  }
  if (product != static_cast<int64_t>(chips.size())) return;
  layout.grid = std::move(sides);
  layout.open_sides = std::move(open_sides);
}

// Switches that every one of them reaches in one hop.
std::vector<VertexId> SwitchesAt(const Graph& graph,
                                 absl::Span<const VertexId> chips) {
  std::vector<VertexId> switches;
  for (LinkId id : graph.leaving(chips[0])) {
    const VertexId to = graph.link(id).to;
    if (graph.kind(to) != VertexKind::kSwitch) continue;
    const bool serves =
        std::all_of(chips.begin(), chips.end(), [&](VertexId chip) {
          return std::any_of(graph.leaving(chip).begin(),
                             graph.leaving(chip).end(),
                             [&](LinkId l) { return graph.link(l).to == to; });
        });
    if (serves) switches.push_back(to);
  }
  return switches;
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
  if (placement.layout.island_size == 0 &&
      std::all_of(chips.begin(), chips.end(), [&](VertexId chip) {
        return graph.island(chip).has_value();
      })) {
    placement.layout.parts = PartsOf(graph, placement.chips);
  }
  absl::Span<const VertexId> island =
      absl::MakeConstSpan(placement.chips)
          .first(static_cast<size_t>(placement.layout.island_size));
  for (const IslandPart& part : placement.layout.parts) {
    if (part.end - part.begin < 2) continue;
    island = absl::MakeConstSpan(placement.chips)
                 .subspan(static_cast<size_t>(part.begin),
                          static_cast<size_t>(part.end - part.begin));
  }
  placement.layout.meshed = Meshed(graph, island);
  FindGrid(graph, placement.chips, placement.layout);
  placement.island_switches = SwitchesAt(graph, placement.chips);
  return placement;
}

std::vector<std::vector<VertexId>> SwitchesOfIslands(
    const Graph& graph, absl::Span<const VertexId> chips, int32_t island_size) {
  CHECK_GT(island_size, 0);
  const auto size = static_cast<size_t>(island_size);
  std::vector<std::vector<VertexId>> switches;
  for (size_t begin = 0; begin < chips.size(); begin += size) {
    switches.push_back(SwitchesAt(graph, chips.subspan(begin, size)));
    if (switches.back().empty()) return {};
  }
  return switches;
}

}  // namespace orrery
