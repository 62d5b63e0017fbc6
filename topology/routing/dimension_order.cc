#include "topology/routing/dimension_order.h"

#include <optional>

namespace orrery {
namespace {

std::optional<LinkId> LinkBetween(const Graph& graph, VertexId from,
                                  VertexId to) {
  for (LinkId id : graph.leaving(from)) {
    if (graph.link(id).to == to) return id;
  }
  return std::nullopt;
}

// Appends the links over the given positions; false if one is missing.
bool AppendWalk(const Graph& graph, const Grid& grid, int64_t position,
                int64_t stride, int32_t side, int32_t direction, int32_t steps,
                double share, std::vector<LinkShare>& links) {
  for (int32_t s = 0; s < steps; ++s) {
    const int64_t x = position / stride % side;
    const int64_t next_x = (x + direction + side) % side;
    const int64_t next = position + (next_x - x) * stride;
    const auto link =
        LinkBetween(graph, grid.vertices[static_cast<size_t>(position)],
                    grid.vertices[static_cast<size_t>(next)]);
    if (!link) return false;
    links.push_back({*link, share});
    position = next;
  }
  return true;
}

// Moves one dimension from coordinate `x` to `y`.
bool AppendDimension(const Graph& graph, const Grid& grid, size_t dimension,
                     int64_t position, int64_t stride, int32_t side, int32_t x,
                     int32_t y, std::vector<LinkShare>& links) {
  const bool is_open =
      grid.step == Grid::Step::kRing && !grid.closes(dimension);
  switch (is_open ? Grid::Step::kLine : grid.step) {
    case Grid::Step::kAll:
      return AppendWalk(graph, grid, position, stride, side, y - x, 1, 1,
                        links);
    case Grid::Step::kLine:
      return AppendWalk(graph, grid, position, stride, side, y > x ? 1 : -1,
                        y > x ? y - x : x - y, 1, links);
    case Grid::Step::kRing:
      break;
  }
  const int32_t up = (y - x + side) % side;
  const int32_t down = side - up;
  if (side == 2) {  // both ways are the same pair of cables
    return AppendWalk(graph, grid, position, stride, side, 1, 1, 1, links);
  }
  const double up_share = up == down ? 0.5 : up < down ? 1 : 0;
  if (up_share > 0 && !AppendWalk(graph, grid, position, stride, side, 1, up,
                                  up_share, links)) {
    return false;
  }
  return up_share == 1 || AppendWalk(graph, grid, position, stride, side, -1,
                                     down, 1 - up_share, links);
}

}  // namespace

std::vector<LinkShare> DimensionOrder(const Graph& graph, VertexId from,
                                      VertexId to) {
  std::vector<LinkShare> links;
  GridPlace start = graph.grid_place(from);
  GridPlace goal = graph.grid_place(to);
  std::optional<LinkId> last;
  if (!Graph::InGrid(start)) {
    for (LinkId id : graph.leaving(from)) {
      const GridPlace place = graph.grid_place(graph.link(id).to);
      if (!Graph::InGrid(place)) continue;
      start = place;
      links.push_back({id, 1});
      break;
    }
  }
  if (!Graph::InGrid(goal)) {
    for (LinkId id : graph.entering(to)) {
      const GridPlace place = graph.grid_place(graph.link(id).from);
      if (!Graph::InGrid(place)) continue;
      goal = place;
      last = id;
      break;
    }
  }
  if (!Graph::InGrid(start) || !Graph::InGrid(goal) ||
      start.grid != goal.grid) {
    return {};
  }
  const Grid& grid = graph.grids()[start.grid];
  if (grid.twisted) return {};
  int64_t stride = 1;
  int64_t position = start.position;
  for (size_t d = 0; d < grid.shape.size(); ++d) {
    const int32_t side = grid.shape[d];
    const int32_t x = static_cast<int32_t>(position / stride % side);
    const int32_t y = static_cast<int32_t>(goal.position / stride % side);
    if (x != y &&
        !AppendDimension(graph, grid, d, position, stride, side, x, y, links)) {
      return {};
    }
    position += (y - x) * stride;
    stride *= side;
  }
  if (last) links.push_back({*last, 1});
  return links;
}

}  // namespace orrery
