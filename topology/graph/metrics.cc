#include "topology/graph/metrics.h"

#include <algorithm>
#include <limits>

#include "topology/graph/max_flow.h"

namespace orrery {
namespace {

// Which half a chip belongs to: 0, 1, or -1 for an odd middle.
using Halves = std::vector<int>;

Halves ByNumber(size_t chips) {
  Halves halves(chips, -1);
  for (size_t i = 0; i < chips / 2; ++i) {
    halves[i] = 0;
    halves[chips - 1 - i] = 1;
  }
  return halves;
}

// Splits the grid of all chips (or of all their routers) across dimension d.
Halves ByDimension(const Graph& graph, absl::Span<const VertexId> chips,
                   const Grid& grid, size_t d) {
  Halves halves(chips.size(), -1);
  int64_t stride = 1;
  for (size_t e = 0; e < d; ++e) stride *= grid.shape[e];
  const int32_t side = grid.shape[d];
  for (size_t i = 0; i < chips.size(); ++i) {
    GridPlace place = graph.grid_place(chips[i]);
    if (!Graph::InGrid(place)) {
      place = graph.grid_place(graph.link(graph.leaving(chips[i])[0]).to);
    }
    if (!Graph::InGrid(place)) return {};
    const int64_t x = place.position / stride % side;
    if (x < side / 2) halves[i] = 0;
    if (x >= side - side / 2) halves[i] = 1;
  }
  return halves;
}

// What the chips of the first half can send to those of the second.
BytesPerSecond Across(const Graph& graph, absl::Span<const VertexId> chips,
                      const Halves& halves) {
  std::vector<VertexId> sources;
  std::vector<VertexId> sinks;
  for (size_t i = 0; i < chips.size(); ++i) {
    if (halves[i] == 0) sources.push_back(chips[i]);
    if (halves[i] == 1) sinks.push_back(chips[i]);
  }
  return MaxFlow(graph, sources, sinks);
}

}  // namespace

int64_t SwitchCount(const Graph& graph) {
  int64_t count = 0;
  for (VertexId id : graph.vertices()) {
    count += graph.kind(id) == VertexKind::kSwitch;
  }
  return count;
}

int64_t CableCount(const Graph& graph) {
  int64_t directed = 0;
  for (LinkId id : graph.links()) directed += graph.link(id).cables;
  return directed / 2;
}

int64_t LargestRadix(const Graph& graph) {
  int64_t largest = 0;
  for (VertexId id : graph.vertices()) {
    if (graph.kind(id) != VertexKind::kSwitch) continue;
    int64_t ports = 0;
    for (LinkId link : graph.leaving(id)) ports += graph.link(link).cables;
    largest = std::max(largest, ports);
  }
  return largest;
}

int32_t Diameter(const Graph& graph) {
  const std::vector<VertexId> chips = Chips(graph);
  int32_t diameter = 0;
  std::vector<int32_t> distance(graph.vertex_count());
  std::vector<VertexId> queue;
  for (VertexId from : chips) {
    std::fill(distance.begin(), distance.end(), -1);
    distance[Index(from)] = 0;
    queue.assign(1, from);
    for (size_t head = 0; head < queue.size(); ++head) {
      const VertexId at = queue[head];
      if (at != from && !graph.forwards(at)) continue;
      for (LinkId link : graph.leaving(at)) {
        const VertexId to = graph.link(link).to;
        if (distance[Index(to)] >= 0) continue;
        distance[Index(to)] = distance[Index(at)] + 1;
        queue.push_back(to);
      }
    }
    for (VertexId to : chips) {
      CHECK(distance[Index(to)] >= 0)
          << VertexName(graph, from) << " does not reach "
          << VertexName(graph, to);
      diameter = std::max(diameter, distance[Index(to)]);
    }
  }
  return diameter;
}

BytesPerSecond Bisection(const Graph& graph) {
  const std::vector<VertexId> chips = Chips(graph);
  std::vector<Halves> halvings = {ByNumber(chips.size())};
  for (const Grid& grid : graph.grids()) {
    for (size_t d = 0; d < grid.shape.size(); ++d) {
      if (grid.shape[d] < 2 || graph.grids().size() != 1) continue;
      Halves halves = ByDimension(graph, chips, grid, d);
      if (!halves.empty()) halvings.push_back(std::move(halves));
    }
  }
  double smallest = std::numeric_limits<double>::infinity();
  for (const Halves& halves : halvings) {
    smallest = std::min(smallest, Across(graph, chips, halves).value());
  }
  return BytesPerSecond(smallest);
}

BytesPerSecond BisectionOfNodes(const Graph& graph, int chips_per_node) {
  const std::vector<VertexId> chips = Chips(graph);
  const auto node = static_cast<size_t>(chips_per_node);
  const size_t half = chips.size() / node / 2 * node;
  Halves halves(chips.size(), -1);
  for (size_t i = 0; i < half; ++i) {
    halves[i] = 0;
    halves[chips.size() - 1 - i] = 1;
  }
  return Across(graph, chips, halves);
}

BytesPerSecond Injection(const Graph& graph) {
  BytesPerSecond sum;
  for (VertexId chip : Chips(graph)) {
    for (LinkId link : graph.leaving(chip)) sum += graph.link(link).bandwidth;
  }
  return sum;
}

BytesPerSecond NicInjection(const Graph& graph) {
  BytesPerSecond sum;
  for (VertexId chip : Chips(graph)) {
    for (LinkId id : graph.leaving(chip)) {
      const Link& link = graph.link(id);
      if (graph.kind(link.to) == VertexKind::kNic) sum += link.bandwidth;
    }
  }
  return sum;
}

}  // namespace orrery
