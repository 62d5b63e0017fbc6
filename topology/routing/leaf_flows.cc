#include "topology/routing/leaf_flows.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cmath>

#include "topology/routing/same_bandwidth.h"

namespace orrery {
namespace {

// Whether a path may lead through a vertex: it has two others to join.
bool Joins(const Graph& graph, VertexId v) {
  VertexId first{};
  bool any = false;
  for (const Direction direction :
       {Direction::kLeaving, Direction::kEntering}) {
    for (const LinkId id : graph.links_at(v, direction)) {
      const VertexId other = graph.far_end(id, direction);
      if (!graph.forwards(other)) continue;
      if (any && other != first) return true;
      first = other;
      any = true;
    }
  }
  return false;
}

}  // namespace

bool LeafFlows::Covers(const Graph& graph, absl::Span<const VertexId> leaves) {
  return std::all_of(leaves.begin(), leaves.end(), [&](VertexId v) {
    return !graph.island(v) && graph.group(v) < 0;
  });
}

LeafFlows::LeafFlows(const Graph& graph, absl::Span<const VertexId> leaves)
    : graph_(graph) {
  constexpr int32_t kNone = -1;
  IdVector<VertexId, int32_t> place(graph.vertex_count(), kNone);
  const auto keep = [&](VertexId v) {
    if (place[v] != kNone) return;
    place[v] = static_cast<int32_t>(vertices_.size());
    vertices_.push_back(v);
  };
  for (const VertexId v : leaves) keep(v);
  for (const VertexId v : graph.vertices()) {
    if (graph.forwards(v) && Joins(graph, v)) keep(v);
  }
  for (const VertexId v : leaves) leaves_.push_back(place[v]);
  for (const Direction direction :
       {Direction::kLeaving, Direction::kEntering}) {
    const bool leaving = direction == Direction::kLeaving;
    auto& begin = leaving ? leaving_begin_ : entering_begin_;
    auto& list = leaving ? leaving_ : entering_;
    for (const VertexId v : vertices_) {
      begin.push_back(static_cast<int32_t>(list.size()));
      for (const LinkId id : graph.links_at(v, direction)) {
        const int32_t other = place[graph.far_end(id, direction)];
        if (other != kNone) {
          list.push_back({id, other, graph.link(id).latency});
        }
      }
    }
    begin.push_back(static_cast<int32_t>(list.size()));
  }
  const size_t count = vertices_.size();
  paths_.resize(count);
  latency_.resize(count);
  even_.resize(count);
  flow_.resize(count);
  rest_.resize(count);
}

template <bool kForward>
void LeafFlows::Search(int32_t origin) {
  depth_.assign(vertices_.size(), -1);
  order_.assign(1, origin);
  depth_[static_cast<size_t>(origin)] = 0;
  for (size_t next = 0; next < order_.size(); ++next) {
    const int32_t at = order_[next];
    for (const Edge& edge : edges(kForward, at)) {
      int32_t& depth = depth_[static_cast<size_t>(edge.other)];
      if (depth >= 0) continue;
      depth = depth_[static_cast<size_t>(at)] + 1;
      order_.push_back(edge.other);
    }
  }
}

void LeafFlows::CountPaths() {
  constexpr int32_t kUneven = -1;
  classes_.assign(1, {kUneven, 0});
  const auto class_of = [&](int32_t before, double bandwidth) {
    for (size_t i = 1; i < classes_.size(); ++i) {
      if (classes_[i].before == before &&
          !BandwidthDiffers(classes_[i].bandwidth, bandwidth)) {
        return static_cast<int32_t>(i);
      }
    }
    classes_.push_back({before, bandwidth});
    return static_cast<int32_t>(classes_.size()) - 1;
  };
  const auto origin = static_cast<size_t>(order_.front());
  paths_[origin] = 1;
  latency_[origin] = 0;
  even_[origin] = 0;
  for (size_t next = 1; next < order_.size(); ++next) {
    const int32_t v = order_[next];
    double paths = 0;
    double latency = 0;
    int32_t before = kUneven;
    double bandwidth = 0;
    bool even = true;
    for (const Edge& edge : edges(false, v)) {
      const auto u = static_cast<size_t>(edge.other);
      if (!Reached(edge.other) || !Nearer(v, edge)) continue;
      const double own = graph_.link(edge.link).bandwidth.value();
      if (paths == 0) {
        before = even_[u];
        bandwidth = own;
      }
      even = even && even_[u] == before && before != kUneven &&
             !BandwidthDiffers(bandwidth, own);
      paths += paths_[u];
      latency += paths_[u] * (latency_[u] + ToSeconds(edge.latency));
    }
    const auto at = static_cast<size_t>(v);
    paths_[at] = paths;
    latency_[at] = latency / paths;
    even_[at] = even ? class_of(before, bandwidth) : kUneven;
  }
}

bool LeafFlows::Spray(size_t from, absl::Span<const double> amounts,
                      absl::Span<double> loads,
                      absl::Span<Duration> latencies) {
  Search<true>(leaves_[from]);
  CountPaths();
  for (size_t b = 0; b < leaves_.size(); ++b) {
    if (b == from || amounts[b] == 0) continue;
    if (!Reached(leaves_[b])) return false;
    if (even_[static_cast<size_t>(leaves_[b])] < 0) return false;
  }
  for (size_t b = 0; b < leaves_.size(); ++b) {
    const auto leaf = static_cast<size_t>(leaves_[b]);
    if (b != from) flow_[leaf] = amounts[b];
    if (Reached(leaves_[b])) latencies[b] = FromSeconds(latency_[leaf]);
  }
  // Farthest first: what reaches a vertex is known before it is passed on.
  for (size_t i = order_.size(); i-- > 1;) {
    const int32_t v = order_[i];
    const auto at = static_cast<size_t>(v);
    const double flow = flow_[at];
    if (flow == 0) continue;
    flow_[at] = 0;
    for (const Edge& edge : edges(false, v)) {
      if (!Reached(edge.other) || !Nearer(v, edge)) continue;
      const auto u = static_cast<size_t>(edge.other);
      const double share = flow * paths_[u] / paths_[at];
      loads[Index(edge.link)] += share;
      flow_[u] += share;
    }
  }
  flow_[static_cast<size_t>(leaves_[from])] = 0;
  return true;
}

bool LeafFlows::Minimal(size_t to, absl::Span<const double> amounts,
                        absl::Span<double> loads,
                        absl::Span<Duration> latencies) {
  Search<false>(leaves_[to]);
  for (size_t a = 0; a < leaves_.size(); ++a) {
    if (a != to && amounts[a] != 0 && !Reached(leaves_[a])) return false;
  }
  for (size_t a = 0; a < leaves_.size(); ++a) {
    if (a != to) flow_[static_cast<size_t>(leaves_[a])] = amounts[a];
  }
  const auto next_of = [&](int32_t v) {
    const absl::Span<const Edge> leaving = edges(true, v);
    return std::find_if(leaving.begin(), leaving.end(), [&](const Edge& edge) {
      return Reached(edge.other) && Nearer(v, edge);
    });
  };
  rest_[static_cast<size_t>(leaves_[to])] = Duration(0);
  for (size_t i = 1; i < order_.size(); ++i) {
    const Edge& next = *next_of(order_[i]);
    rest_[static_cast<size_t>(order_[i])] =
        AddTimes(rest_[static_cast<size_t>(next.other)], next.latency);
  }
  for (size_t i = order_.size(); i-- > 1;) {
    const auto at = static_cast<size_t>(order_[i]);
    if (flow_[at] == 0) continue;
    const Edge& next = *next_of(order_[i]);
    loads[Index(next.link)] += flow_[at];
    flow_[static_cast<size_t>(next.other)] += flow_[at];
    flow_[at] = 0;
  }
  flow_[static_cast<size_t>(leaves_[to])] = 0;
  for (size_t a = 0; a < leaves_.size(); ++a) {
    if (Reached(leaves_[a])) {
      latencies[a] = rest_[static_cast<size_t>(leaves_[a])];
    }
  }
  return true;
}

template void LeafFlows::Search<true>(int32_t origin);
template void LeafFlows::Search<false>(int32_t origin);

}  // namespace orrery
