#include "analytic/collective/collective_bounds.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace orrery {

double EndPointBytes(CommunicationKind kind, int p, bool in_network) {
  const double others = static_cast<double>(p - 1) / p;
  switch (kind) {
    case CommunicationKind::kAllReduce:
      return in_network ? 1 : 2 * others;
    case CommunicationKind::kReduceScatter:
    case CommunicationKind::kAllGather:
    case CommunicationKind::kAllToAll:
      return others;
    case CommunicationKind::kBroadcast:
    case CommunicationKind::kReduce:
    case CommunicationKind::kPointToPoint:
      return 1;
    case CommunicationKind::kBarrier:
      return 0;
  }
  return 0;
}

Seconds CollectiveLowerBound(CommunicationKind kind, int p, Bytes m,
                             const AlphaBeta& port, bool in_network) {
  return CollectiveLowerBound(kind, p, m, RankPorts{port, port.bandwidth},
                              in_network);
}

Seconds CollectiveLowerBound(CommunicationKind kind, int p, Bytes m,
                             const RankPorts& ports, bool in_network) {
  if (p < 2) return Seconds(0);
  const double bytes = EndPointBytes(kind, p, in_network);
  // Of a broadcast all but one receive everything, of a reduction all but one
  // send it.
  const bool rooted = kind == CommunicationKind::kBroadcast ||
                      kind == CommunicationKind::kReduce ||
                      kind == CommunicationKind::kPointToPoint;
  const double in_the_mean = rooted ? bytes * (p - 1) / p : bytes;
  const AlphaBeta together = {Seconds(0), ports.mean};
  return std::max({ports.narrowest.latency,
                   ports.narrowest.Wire(std::min(bytes, 1.0), m),
                   together.Wire(in_the_mean, m)});
}

RankPorts PortsOfRanks(const Graph& graph, absl::Span<const VertexId> chips) {
  double narrowest = std::numeric_limits<double>::infinity();
  double sum = 0;
  Duration latency = Duration::max();
  for (const VertexId chip : chips) {
    double widest = 0;
    for (const Direction way : {Direction::kLeaving, Direction::kEntering}) {
      double bandwidth = 0;
      for (const LinkId id : graph.links_at(chip, way)) {
        bandwidth += graph.link(id).bandwidth.value();
        latency = std::min(latency, graph.link(id).latency);
      }
      widest = std::max(widest, bandwidth);
    }
    narrowest = std::min(narrowest, widest);
    sum += widest;
  }
  return {{Seconds(ToSeconds(latency)), BytesPerSecond(narrowest)},
          BytesPerSecond(sum / static_cast<double>(chips.size()))};
}

IslandEdge EdgeOfIslands(const Graph& graph, absl::Span<const VertexId> chips) {
  std::map<int32_t, int> members;
  for (const VertexId chip : chips) {
    const std::optional<int32_t> island = graph.island(chip);
    if (!island) return {};
    ++members[*island];
  }
  IslandEdge edge = {static_cast<int>(members.size()), members.begin()->second,
                     BytesPerSecond(0)};
  for (const auto& [island, count] : members) {
    if (count != edge.per_island) return {};
  }
  std::map<int32_t, double> out, in;
  const auto add = [&](VertexId chip) {
    const std::optional<int32_t> island = graph.island(chip);
    if (!island || !members.contains(*island)) return;
    for (const Direction way : {Direction::kLeaving, Direction::kEntering}) {
      for (const LinkId id : graph.links_at(chip, way)) {
        if (graph.island(graph.far_end(id, way)) == island) continue;
        (way == Direction::kLeaving ? out : in)[*island] +=
            graph.link(id).bandwidth.value();
      }
    }
  };
  for (const VertexId chip : chips) {
    if (!graph.forwards(chip)) add(chip);
  }
  // Whatever forwards can carry bytes of others.
  for (const VertexId vertex : graph.vertices()) {
    if (graph.forwards(vertex)) add(vertex);
  }
  for (const auto& [island, count] : members) {
    edge.out =
        std::max(edge.out, BytesPerSecond(std::max(out[island], in[island])));
  }
  return edge;
}

Seconds IslandLowerBound(CommunicationKind kind, const IslandEdge& edge,
                         Bytes m, bool in_network) {
  if (edge.islands < 2) return Seconds(0);
  // Each member of an all-to-all sends its blocks for other islands.
  const double share = kind == CommunicationKind::kAllToAll
                           ? edge.per_island *
                                 static_cast<double>(edge.islands - 1) /
                                 edge.islands
                           : EndPointBytes(kind, edge.islands, in_network);
  return AlphaBeta{Seconds(0), edge.out}.Wire(share, m);
}

Seconds CollectiveLowerBound(CommunicationKind kind, Bytes m,
                             const Graph& graph,
                             absl::Span<const VertexId> chips,
                             bool in_network) {
  const int p = static_cast<int>(chips.size());
  return std::max(
      CollectiveLowerBound(kind, p, m, PortsOfRanks(graph, chips), in_network),
      IslandLowerBound(kind, EdgeOfIslands(graph, chips), m, in_network));
}

}  // namespace orrery
