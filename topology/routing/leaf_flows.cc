#include "topology/routing/leaf_flows.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "topology/routing/route_hash.h"
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

void LeafFlows::FindHops(size_t to) {
  Search<false>(leaves_[to]);
  hops_.assign(vertices_.size(), {});
  choices_.clear();
  for (const int32_t v : order_) {
    Hop& hop = hops_[static_cast<size_t>(v)];
    hop.begin = static_cast<uint32_t>(choices_.size());
    hop.vertex =
        static_cast<uint32_t>(Index(vertices_[static_cast<size_t>(v)]));
    Duration& rest = rest_[static_cast<size_t>(v)];
    rest = Duration(0);
    hop.even = true;
    if (v != leaves_[to]) {
      for (const Edge& edge : edges(true, v)) {
        if (!Reached(edge.other) || !Nearer(v, edge)) continue;
        const auto next = static_cast<size_t>(edge.other);
        const Duration time = AddTimes(rest_[next], edge.latency);
        if (choices_.size() == hop.begin) rest = time;
        hop.even = hop.even && hops_[next].even && time == rest;
        choices_.push_back(edge);
      }
    }
    hop.count = static_cast<uint32_t>(choices_.size()) - hop.begin;
    if (std::has_single_bit(hop.count)) hop.mask = hop.count - 1;
    hop.settled =
        hop.count == 0 ||
        (hop.count == 1 &&
         hops_[static_cast<size_t>(choices_[hop.begin].other)].settled);
  }
  next_.clear();
  for (const Edge& choice : choices_) {
    const bool settled = hops_[static_cast<size_t>(choice.other)].settled;
    next_.push_back(settled ? ~choice.other : choice.other);
  }
  taken_.assign(kTurns * choices_.size(), 0);
  arrived_.assign(vertices_.size(), 0);
}

Duration LeafFlows::CountTimed(const EndPoint& source,
                               absl::Span<const EndPoint> sinks) {
  Duration slowest{};
  const uint64_t from = SourceHash(source.chip);
  for (const EndPoint& sink : sinks) {
    if (source.island == sink.island) continue;
    const uint64_t hash = FlowHash(from, sink.chip, /*flow=*/0);
    Duration latency = source.latency + sink.latency;
    auto at = static_cast<size_t>(leaves_[source.leaf]);
    for (Hop hop = hops_[at]; !hop.settled; hop = hops_[at]) {
      const uint32_t pick = hop.Pick(hash);
      ++taken_[kTurns * pick];
      latency += choices_[pick].latency;
      at = static_cast<size_t>(choices_[pick].other);
    }
    slowest = std::max(slowest, latency + rest_[at]);
  }
  return slowest;
}

// Flows do not wait for each other's hashes that way.
void LeafFlows::Count(const EndPoint& source,
                      absl::Span<const EndPoint> sinks) {
  const uint64_t from = SourceHash(source.chip);
  const Hop first = hops_[static_cast<size_t>(leaves_[source.leaf])];
  under_way_.resize(sinks.size());
  uint32_t* const taken = taken_.data();
  const int32_t* const next_of = next_.data();
  Flow* const flows = under_way_.data();
  const Hop* const hops = hops_.data();
  size_t left = 0;
  const auto go_on = [&](uint64_t hash, const Hop& hop, size_t turn) {
    const uint32_t pick = hop.Pick(hash);
    ++taken[kTurns * pick + turn % kTurns];
    flows[left] = {hash, next_of[pick]};
    left += flows[left].at >= 0;
  };
  for (size_t i = 0; i < sinks.size(); ++i) {
    if (source.island == sinks[i].island) continue;
    go_on(FlowHash(from, sinks[i].chip, /*flow=*/0), first, i);
  }
  while (left > 0) {
    const size_t before = std::exchange(left, 0);
    for (size_t i = 0; i < before; ++i) {
      const Flow flow = flows[i];
      go_on(flow.hash, hops[flow.at], i);
    }
  }
}

bool LeafFlows::Hashed(size_t to, absl::Span<const EndPoint> sources,
                       absl::Span<const EndPoint> sinks,
                       absl::Span<double> loads, Duration& slowest) {
  FindHops(to);
  const auto sends = [&](const EndPoint& source) {
    return std::any_of(sinks.begin(), sinks.end(), [&](const EndPoint& sink) {
      return sink.island != source.island;
    });
  };
  for (const EndPoint& source : sources) {
    if (!Reached(leaves_[source.leaf]) && sends(source)) return false;
  }
  Duration farthest{};
  for (const EndPoint& sink : sinks) {
    farthest = std::max(farthest, sink.latency);
  }
  for (const EndPoint& source : sources) {
    const auto leaf = static_cast<size_t>(leaves_[source.leaf]);
    if (!Reached(leaves_[source.leaf])) continue;  // and sends nothing
    if (!hops_[leaf].even) {
      slowest = std::max(slowest, CountTimed(source, sinks));
      continue;
    }
    if (hops_[leaf].settled) {
      for (const EndPoint& sink : sinks) {
        arrived_[leaf] += source.island != sink.island;
      }
    } else {
      Count(source, sinks);
    }
    const Duration before = source.latency + rest_[leaf];
    if (before + farthest <= slowest) continue;
    for (const EndPoint& sink : sinks) {
      if (source.island == sink.island) continue;
      slowest = std::max(slowest, before + sink.latency);
    }
  }
  for (size_t i = 0; i < choices_.size(); ++i) {
    int64_t taken = 0;
    for (size_t turn = 0; turn < kTurns; ++turn) {
      taken += taken_[kTurns * i + turn];
    }
    if (taken == 0) continue;
    loads[Index(choices_[i].link)] += static_cast<double>(taken);
    if (next_[i] < 0) arrived_[static_cast<size_t>(~next_[i])] += taken;
  }
  for (size_t i = order_.size(); i-- > 1;) {
    const auto v = static_cast<size_t>(order_[i]);
    if (arrived_[v] == 0) continue;
    const Edge& next = choices_[hops_[v].begin];
    loads[Index(next.link)] += static_cast<double>(arrived_[v]);
    arrived_[static_cast<size_t>(next.other)] += arrived_[v];
  }
  return true;
}

}  // namespace orrery
