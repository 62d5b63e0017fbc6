#include "sim/folding/chip_links.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace orrery {
namespace {

// Routes that a shift maps on routes.
bool Shifts(Routing routing) {
  return routing == Routing::kDimensionOrdered || routing == Routing::kSpray;
}

enum Reason : int32_t { kShifted, kByNics };

}  // namespace

ChipLinks::ChipLinks(const System& system, const Network& network,
                     const NodeResources& nodes, bool trees)
    : system_(system),
      graph_(network.graph()),
      resources_(network.resources()),
      nodes_(nodes),
      chip_(resources_.capacities().size(), -1),
      place_(resources_.capacities().size(), -1),
      of_chip_(static_cast<size_t>(system.chips())) {
  const bool islands = graph_.island(static_cast<VertexId>(0)).has_value();
  if (system.faults().empty() &&
      Shifts(islands ? network.routing().island : network.routing().fabric)) {
    AddSides();
  }
  if (trees && islands &&
      (!graph_.forwards(static_cast<VertexId>(0)) ||
       nodes_.NodesKeepToLeaves())) {
    AddNics();
  }
}

bool ChipLinks::Put(LinkId link, int32_t chip, size_t place) {
  const ResourceId resource = resources_.of(link);
  if (chip_[resource] >= 0) return false;
  if (first_.size() <= place) first_.resize(place + 1);
  if (!first_[place]) first_[place] = link;
  const Link& own = graph_.link(link);
  const Link& other = graph_.link(*first_[place]);
  if (own.bandwidth != other.bandwidth || own.latency != other.latency ||
      own.cables != other.cables) {
    return false;
  }
  auto& links = of_chip_[static_cast<size_t>(chip)];
  if (links.size() <= place) links.resize(place + 1);
  if (links[place]) return false;
  links[place] = resource;
  chip_[resource] = chip;
  place_[resource] = static_cast<int32_t>(place);
  return true;
}

std::vector<int32_t> ChipLinks::Coordinates(const Grid& grid,
                                            int32_t position) const {
  std::vector<int32_t> at;
  for (const int32_t side : grid.shape) {
    at.push_back(position % side);
    position /= side;
  }
  return at;
}

void ChipLinks::AddSides() {
  if (graph_.grids().empty()) return;
  const Grid& first = graph_.grids()[static_cast<GridId>(0)];
  for (const Grid& grid : graph_.grids()) {
    if (grid.step == Grid::Step::kAll || grid.twisted ||
        grid.shape != first.shape || grid.step != first.step ||
        grid.open != first.open) {
      return;
    }
  }
  for (const LinkId id : graph_.links()) {
    const Link& link = graph_.link(id);
    const GridPlace from = graph_.grid_place(link.from);
    const GridPlace to = graph_.grid_place(link.to);
    if (!Graph::InGrid(from) || !Graph::InGrid(to)) continue;
    if (graph_.kind(link.from) != VertexKind::kChip || from.grid != to.grid) {
      return;
    }
    const std::vector<int32_t> a = Coordinates(first, from.position);
    const std::vector<int32_t> b = Coordinates(first, to.position);
    size_t sides = 0;
    size_t place = 0;
    for (size_t d = 0; d < a.size(); ++d) {
      if (a[d] == b[d]) continue;
      ++sides;
      const bool up = (a[d] + 1) % first.shape[d] == b[d];
      place = 2 * d + (up ? 0 : 1);
    }
    if (sides != 1 || !Put(id, static_cast<int32_t>(link.from), place)) return;
  }
  shifts_ = true;
}

void ChipLinks::AddNics() {
  // After those of grids.
  const size_t begin = first_.size();
  for (size_t chip = 0; chip < of_chip_.size(); ++chip) {
    const auto v = static_cast<VertexId>(chip);
    const auto number = static_cast<int32_t>(chip);
    if (!nodes_.OnWholeNodes({number})) continue;
    size_t place = begin;
    for (const LinkId out : graph_.leaving(v)) {
      const VertexId nic = graph_.link(out).to;
      if (graph_.kind(nic) != VertexKind::kNic) continue;
      if (!Put(out, number, place++)) return;
      for (const Direction direction :
           {Direction::kLeaving, Direction::kEntering}) {
        for (const LinkId id : graph_.links_at(nic, direction)) {
          if (id == out) continue;
          const VertexId other = graph_.far_end(id, direction);
          if (graph_.kind(other) == VertexKind::kChip && other != v) return;
          if (!Put(id, number, place++)) return;
        }
      }
    }
    // As many as the first chip has.
    if (place == begin || place != first_.size()) return;
  }
  nics_ = true;
}

bool ChipLinks::InOneGrid(const std::vector<int>& chips) const {
  const GridPlace first =
      graph_.grid_place(static_cast<VertexId>(chips.front()));
  if (!Graph::InGrid(first)) return false;
  return std::all_of(chips.begin(), chips.end(), [&](int chip) {
    return graph_.grid_place(static_cast<VertexId>(chip)).grid == first.grid;
  });
}

bool ChipLinks::AloneOnNodes(const std::vector<int>& chips) const {
  std::vector<int> nodes;
  for (const int chip : chips) nodes.push_back(chip / system_.chips_per_node());
  std::sort(nodes.begin(), nodes.end());
  return std::adjacent_find(nodes.begin(), nodes.end()) == nodes.end();
}

std::optional<std::vector<int32_t>> ChipLinks::ShapeOf(
    const std::vector<int>& chips) const {
  if (shifts_ && InOneGrid(chips)) {
    std::vector<int32_t> shape = {kShifted};
    const Grid& grid = graph_.grids()[static_cast<GridId>(0)];
    std::vector<int32_t> first;
    for (const int chip : chips) {
      const std::vector<int32_t> at = Coordinates(
          grid, graph_.grid_place(static_cast<VertexId>(chip)).position);
      if (first.empty()) first = at;
      for (size_t d = 0; d < at.size(); ++d) shape.push_back(at[d] - first[d]);
    }
    // Algorithms take members in the order of chips.
    const std::vector<int32_t> order = OrderOf(chips);
    shape.insert(shape.end(), order.begin(), order.end());
    return shape;
  }
  if (nics_ && AloneOnNodes(chips) && nodes_.OnWholeNodes(chips)) {
    std::vector<int32_t> shape = {kByNics};
    const std::vector<int32_t> shared = nodes_.SharedPlaces(chips);
    shape.insert(shape.end(), shared.begin(), shared.end());
    return shape;
  }
  return std::nullopt;
}

ChipLinks::Map ChipLinks::MapOf(const std::vector<int>& from,
                                const std::vector<int>& to) const {
  CHECK_EQ(from.size(), to.size());
  Map map;
  map.members = &to;
  if (!shifts_ || !InOneGrid(from)) return map;
  map.graph = &graph_;
  map.grid =
      &graph_
           .grids()[graph_.grid_place(static_cast<VertexId>(to.front())).grid];
  const auto at = [&](int chip) {
    return Coordinates(*map.grid,
                       graph_.grid_place(static_cast<VertexId>(chip)).position);
  };
  map.shift = at(to.front());
  const std::vector<int32_t> before = at(from.front());
  for (size_t d = 0; d < map.shift.size(); ++d) map.shift[d] -= before[d];
  return map;
}

std::optional<std::vector<LinkPlace>> ChipLinks::PlacesOf(
    absl::Span<const ResourceId> resources,
    const std::vector<int>& members) const {
  std::vector<LinkPlace> places;
  places.reserve(resources.size());
  if (shifts_ && InOneGrid(members)) {
    for (const ResourceId resource : resources) {
      const int32_t chip = chip_[resource];
      if (chip < 0 ||
          !Graph::InGrid(graph_.grid_place(static_cast<VertexId>(chip)))) {
        return std::nullopt;
      }
      places.push_back({chip, place_[resource]});
    }
    return places;
  }
  absl::flat_hash_map<int32_t, int32_t> numbers;
  for (size_t i = 0; i < members.size(); ++i) {
    numbers.try_emplace(members[i], static_cast<int32_t>(i));
  }
  for (const ResourceId resource : resources) {
    const auto found = numbers.find(chip_[resource]);
    if (found == numbers.end()) return std::nullopt;
    places.push_back({found->second, place_[resource]});
  }
  return places;
}

int32_t ChipLinks::Shifted(int32_t chip, const Map& map) {
  int32_t position =
      map.graph->grid_place(static_cast<VertexId>(chip)).position;
  int32_t moved = 0;
  int32_t stride = 1;
  for (size_t d = 0; d < map.shift.size(); ++d) {
    const int32_t side = map.grid->shape[d];
    const int32_t x = position % side + map.shift[d];
    position /= side;
    CHECK(map.grid->closes(d) || (x >= 0 && x < side));
    moved += (x + side) % side * stride;
    stride *= side;
  }
  return static_cast<int32_t>(map.grid->vertices[static_cast<size_t>(moved)]);
}

ResourceId ChipLinks::At(const LinkPlace& place, const Map& map) const {
  const int32_t chip = map.grid != nullptr
                           ? Shifted(place.of, map)
                           : (*map.members)[static_cast<size_t>(place.of)];
  const auto& links = of_chip_[static_cast<size_t>(chip)];
  const auto at = static_cast<size_t>(place.place);
  CHECK(at < links.size() && links[at].has_value());
  return *links[at];
}

}  // namespace orrery
