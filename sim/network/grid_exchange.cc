#include "sim/network/grid_exchange.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace orrery {
namespace {

// Traffic along one line of a grid, by place: what goes up from it to the next,
// and down to the one before.
struct LineLoads {
  std::vector<double> up;
  std::vector<double> down;
};

// Adds `amount` to `steps` places from `first` on, around a side; as changes
// from place to place, to be summed up at the end.
void AddRun(std::vector<double>& changes, int32_t first, int32_t steps,
            double amount) {
  const auto side = static_cast<int32_t>(changes.size()) - 1;
  const int32_t end = first + steps;
  changes[static_cast<size_t>(first)] += amount;
  changes[static_cast<size_t>(std::min(end, side))] -= amount;
  if (end <= side) return;
  changes[0] += amount;
  changes[static_cast<size_t>(end - side)] -= amount;
}

std::vector<double> SummedUp(std::vector<double> changes) {
  for (size_t i = 1; i < changes.size(); ++i) changes[i] += changes[i - 1];
  changes.pop_back();
  return changes;
}

int32_t HopsAlong(int32_t x, int32_t y, int32_t side, bool closes) {
  const int32_t apart = std::abs(x - y);
  return closes ? std::min(apart, side - apart) : apart;
}

// `from[x] to[y]` units go from place x to place y, the shorter way, half each
// way where both are. A side of two that closes has one link each way.
LineLoads LoadsOf(absl::Span<const double> from, absl::Span<const double> to,
                  bool closes) {
  const auto side = static_cast<int32_t>(from.size());
  std::vector<double> up(from.size() + 1), down(from.size() + 1);
  for (int32_t x = 0; x < side; ++x) {
    if (from[static_cast<size_t>(x)] == 0) continue;
    for (int32_t y = 0; y < side; ++y) {
      const double units =
          from[static_cast<size_t>(x)] * to[static_cast<size_t>(y)];
      if (x == y || units == 0) continue;
      const int32_t steps_up = (y - x + side) % side;
      const int32_t steps_down = side - steps_up;
      double part_up = y > x ? 1 : 0;
      if (closes) {
        part_up = steps_up == steps_down ? 0.5 : steps_up < steps_down ? 1 : 0;
        if (side == 2) part_up = 1;
      }
      if (part_up > 0) AddRun(up, x, steps_up, units * part_up);
      if (part_up < 1) {
        AddRun(down, (y + 1) % side, steps_down, units * (1 - part_up));
      }
    }
  }
  return {SummedUp(std::move(up)), SummedUp(std::move(down))};
}

std::optional<LinkId> LinkBetween(const Graph& graph, VertexId from,
                                  VertexId to) {
  for (LinkId id : graph.leaving(from)) {
    if (graph.link(id).to == to) return id;
  }
  return std::nullopt;
}

// The hops of the two members that lie farthest apart.
int32_t MostHops(const Grid& grid, absl::Span<const int64_t> members) {
  const auto coordinates = [&](int64_t position) {
    std::vector<int32_t> at;
    for (const int32_t side : grid.shape) {
      at.push_back(static_cast<int32_t>(position % side));
      position /= side;
    }
    return at;
  };
  std::vector<std::vector<int32_t>> places;
  for (const int64_t member : members) places.push_back(coordinates(member));
  int64_t box = 1;
  int32_t of_box = 0;
  for (size_t d = 0; d < grid.shape.size(); ++d) {
    std::vector<int32_t> along;
    for (const auto& place : places) along.push_back(place[d]);
    std::sort(along.begin(), along.end());
    along.erase(std::unique(along.begin(), along.end()), along.end());
    box *= static_cast<int64_t>(along.size());
    int32_t most = 0;
    for (const int32_t x : along) {
      for (const int32_t y : along) {
        most = std::max(most, HopsAlong(x, y, grid.shape[d], grid.closes(d)));
      }
    }
    of_box += most;
  }
  // A box holds the members that are farthest along all sides at once.
  if (box == static_cast<int64_t>(members.size())) return of_box;
  int32_t most = 0;
  for (const auto& a : places) {
    for (const auto& b : places) {
      int32_t hops = 0;
      for (size_t d = 0; d < a.size(); ++d) {
        hops += HopsAlong(a[d], b[d], grid.shape[d], grid.closes(d));
      }
      most = std::max(most, hops);
    }
  }
  return most;
}

}  // namespace

std::optional<Duration> ExchangeOnGrid(
    const Graph& graph, absl::Span<const VertexId> chips,
    absl::FunctionRef<void(LinkId, double)> add) {
  const GridPlace first = graph.grid_place(chips[0]);
  if (!Graph::InGrid(first)) return std::nullopt;
  const Grid& grid = graph.grids()[first.grid];
  if (grid.step == Grid::Step::kAll || grid.twisted) return std::nullopt;
  std::vector<int64_t> members;
  for (const VertexId chip : chips) {
    const GridPlace place = graph.grid_place(chip);
    if (!Graph::InGrid(place) || place.grid != first.grid ||
        graph.island(chip) != graph.island(chips[0])) {
      return std::nullopt;
    }
    members.push_back(place.position);
  }
  const auto positions = static_cast<int64_t>(grid.vertices.size());
  Duration hop{};
  int64_t stride = 1;
  for (size_t d = 0; d < grid.shape.size(); ++d) {
    const int32_t side = grid.shape[d];
    const int64_t block = stride * side;
    // Who is still on its way along this side has its own coordinates in the
    // sides to come, and its goal's in those done.
    std::vector<double> coming(static_cast<size_t>(positions / stride));
    std::vector<double> going(static_cast<size_t>(block));
    for (const int64_t member : members) {
      ++coming[static_cast<size_t>(member / stride)];
      ++going[static_cast<size_t>(member % block)];
    }
    std::vector<double> from(static_cast<size_t>(side));
    std::vector<double> to(from.size());
    for (int64_t upper = 0; upper < positions / block; ++upper) {
      for (int64_t lower = 0; lower < stride; ++lower) {
        double all_from = 0, all_to = 0;
        for (int32_t x = 0; x < side; ++x) {
          const auto place = static_cast<size_t>(x);
          all_from += from[place] =
              coming[static_cast<size_t>(upper * side + x)];
          all_to += to[place] = going[static_cast<size_t>(lower + x * stride)];
        }
        if (all_from == 0 || all_to == 0) continue;
        const LineLoads loads = LoadsOf(from, to, grid.closes(d));
        const auto vertex = [&](int32_t x) {
          return grid.vertices[static_cast<size_t>(upper * block + lower +
                                                   x * stride)];
        };
        for (int32_t x = 0; x < side; ++x) {
          const auto place = static_cast<size_t>(x);
          for (const bool up : {true, false}) {
            const double load = up ? loads.up[place] : loads.down[place];
            // What cancels out in a sum is nothing.
            if (load < 0.25) continue;
            const int32_t next = (x + (up ? 1 : side - 1)) % side;
            const auto link = LinkBetween(graph, vertex(x), vertex(next));
            if (!link) return std::nullopt;
            hop = std::max(hop, graph.link(*link).latency);
            add(*link, load);
          }
        }
      }
    }
    stride = block;
  }
  return MostHops(grid, members) * hop;
}

}  // namespace orrery
