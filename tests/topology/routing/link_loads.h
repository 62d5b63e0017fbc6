#pragma once
// Bytes on every link when all demands are carried.
//
// Sprayed traffic of many demands is counted from each source at once: a search
// over the whole graph, then Brandes' accumulation (2001) of what goes to each
// vertex back over all shortest paths. This shares nothing with the search
// between pairs in topology/routing. Anything else goes route by route.
#include <algorithm>
#include <map>
#include <vector>

#include "base/check.h"
#include "topology/routing/route.h"

namespace orrery {

// Adds what `from` puts on links when it sends `amounts[v]` to each vertex v,
// split evenly over all shortest paths. Islands and groups are not looked at.
inline void AddSprayedLoads(const Graph& graph, VertexId from,
                            std::vector<double> amounts,
                            std::vector<double>& loads) {
  std::vector<int> depth(graph.vertex_count(), -1);
  std::vector<double> paths(graph.vertex_count(), 0);
  std::vector<VertexId> order = {from};
  depth[Index(from)] = 0;
  paths[Index(from)] = 1;
  for (size_t i = 0; i < order.size(); ++i) {
    const VertexId at = order[i];
    if (at != from && !graph.forwards(at)) continue;
    for (LinkId id : graph.leaving(at)) {
      const size_t to = Index(graph.link(id).to);
      if (depth[to] < 0) {
        depth[to] = depth[Index(at)] + 1;
        order.push_back(graph.link(id).to);
      }
      if (depth[to] == depth[Index(at)] + 1) paths[to] += paths[Index(at)];
    }
  }
  for (size_t i = order.size(); i-- > 1;) {
    const VertexId at = order[i];
    for (LinkId id : graph.entering(at)) {
      const VertexId before = graph.link(id).from;
      if (depth[Index(before)] + 1 != depth[Index(at)] ||
          (before != from && !graph.forwards(before))) {
        continue;
      }
      const double share =
          amounts[Index(at)] * paths[Index(before)] / paths[Index(at)];
      amounts[Index(before)] += share;
      loads[Index(id)] += share;
    }
  }
}

// By link. Requires: nobody is cut off.
inline std::vector<double> LinkLoadsOf(const Graph& graph, Routing routing,
                                       absl::Span<const Demand> demands) {
  // Of sources with fewer destinations the routes are found one by one.
  constexpr size_t kDense = 16;
  std::map<VertexId, std::vector<Demand>> by_source;
  for (const Demand& d : demands) by_source[d.from].push_back(d);
  std::vector<double> loads(graph.link_count(), 0);
  std::vector<Demand> sparse;
  for (const auto& [from, list] : by_source) {
    if (routing != Routing::kSpray || list.size() < kDense ||
        graph.island(from) || graph.group(from) >= 0) {
      sparse.insert(sparse.end(), list.begin(), list.end());
      continue;
    }
    std::vector<double> amounts(graph.vertex_count(), 0);
    for (const Demand& d : list) amounts[Index(d.to)] += d.bytes;
    AddSprayedLoads(graph, from, std::move(amounts), loads);
  }
  Router router(graph, routing);
  const auto routes = router.FindAll(sparse);
  CHECK(routes.ok()) << routes.status().ToString();
  for (size_t i = 0; i < sparse.size(); ++i) {
    for (const LinkShare& l : (*routes)[i].links) {
      loads[Index(l.link)] += l.share * sparse[i].bytes;
    }
  }
  return loads;
}

// The longest time any link is busy.
inline double LargestLoad(const Graph& graph, Routing routing,
                          absl::Span<const Demand> demands) {
  const std::vector<double> loads = LinkLoadsOf(graph, routing, demands);
  double largest = 0;
  for (LinkId id : graph.links()) {
    largest =
        std::max(largest, loads[Index(id)] / graph.link(id).bandwidth.value());
  }
  return largest;
}

}  // namespace orrery
