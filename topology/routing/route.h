#pragma once
// Router: the links that traffic between two vertices takes.
//
// Routes are deterministic: the same graph, pair and flow number give the same
// route. A route is a set of links with the share of the traffic that crosses
// each, so that one path and a spray over many look the same to who uses it.
//
//   kMinimal           one shortest path, lowest link ids first
//   kDimensionOrdered  grids: one dimension after the other, the shorter way
//                      around, half each way on a tie; elsewhere, and where a
//                      fault is in the way, minimal
//   kSpray             all shortest paths, each by its cables
//   (shortest_paths.h) kEcmp              one shortest path per flow, next hop
//   by a fixed hash of
//                      the pair, the flow and the place
//   kValiant           by way of the switch or router of an intermediate chip,
//                      fixed by the same hash (Valiant, 1982), both legs
//                      sprayed; minimal where there is nowhere to turn
//   kAdaptive          of every flow the same share sprayed minimally, the rest
//                      Valiant; the split that minimises the largest load over
//                      a set of demands (UGAL in a fluid model), or one that
//                      is given because others are on the links too. A single
//                      flow by itself has nothing to avoid and is sprayed
//
// Each fabric routes by its own rule: between chips of one island the island's,
// by way of its own chips; between islands that of the fabric between them, by
// way of other islands.
//
// A pair that faults have cut off is an error that names it. A router keeps
// scratch space and what it has found: one object, one thread.
#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/graph/graph.h"
#include "topology/machine/fabric.h"
#include "topology/routing/intermediates.h"
#include "topology/routing/shared_segment.h"
#include "topology/routing/shortest_paths.h"

namespace orrery {

std::string_view RoutingName(Routing routing);

// How traffic is routed inside islands, and between them or where there are
// none.
struct MachineRouting {
  Routing island;
  Routing fabric;
  bool Has(Routing routing) const {
    return island == routing || fabric == routing;
  }
};

// The share of traffic that an adaptive router sends minimally inside islands
// and between them; the rest takes detours. 1 is kSpray, 0 is kValiant.
struct AdaptiveShares {
  double inside = 1;
  double between = 1;
  friend auto operator<=>(const AdaptiveShares&,
                          const AdaptiveShares&) = default;
  template <class H>
  friend H AbslHashValue(H h, const AdaptiveShares& shares) {
    return H::combine(std::move(h), shares.inside, shares.between);
  }
};

// Routing with adaptive fabrics as they are where the shares leave no choice.
MachineRouting Settled(MachineRouting routing,
                       const std::optional<AdaptiveShares>& shares);

struct Route {
  // No link twice.
  std::vector<LinkShare> links;
  // Of the links passed, averaged over the shares.
  Duration latency{};
};

// So many bytes from one vertex to another.
struct Demand {
  VertexId from;
  VertexId to;
  double bytes = 0;
  uint64_t flow = 0;
};

// Of the links passed, averaged over the shares.
Duration MeanLatency(const Graph& graph, absl::Span<const LinkShare> links);

// The routes of many flows, with what they have in common kept once: a route is
// its own links, each with all of its traffic, and a middle part that others
// may have as well.
struct RouteSet {
  struct Entry {
    int32_t own_begin;  // in `own`
    int32_t own_end;
    int32_t middle;  // in `middles`, or -1
    Duration latency{};
  };
  struct Middle {
    std::shared_ptr<const std::vector<LinkShare>> links;
    // By the router, for other sets as well.
    bool kept = false;
  };
  std::vector<Entry> routes;
  std::vector<LinkId> own;
  std::vector<Middle> middles;
};

class Router {
 public:
  // `graph` must outlive the router.
  Router(const Graph& graph, MachineRouting routing);
  // The same everywhere.
  Router(const Graph& graph, Routing routing)
      : Router(graph, MachineRouting{routing, routing}) {}

  const Graph& graph() const { return graph_; }
  MachineRouting routing() const { return routing_; }

  // The route of one flow by itself. Requires: from != to.
  absl::StatusOr<Route> Find(VertexId from, VertexId to, uint64_t flow = 0);

  // The routes of many flows, in their order. With `shares` these are taken
  // where routing is adaptive, else the split that suits the demands best.
  absl::StatusOr<std::vector<Route>> FindAll(
      absl::Span<const Demand> demands,
      const std::optional<AdaptiveShares>& shares = {});

  // The same, with common parts kept once. Cost of sprayed flows: a search per
  // pair of leaves, not per pair of chips, and only if no set before had it.
  absl::StatusOr<RouteSet> FindSet(
      absl::Span<const Demand> demands,
      const std::optional<AdaptiveShares>& shares = {});

  // The ways an adaptive router weighs: sprayed, and the Valiant route.
  absl::StatusOr<Route> Sprayed(VertexId from, VertexId to) {
    return FindWith(Routing::kSpray, from, to, 0);
  }
  absl::StatusOr<Route> Detoured(VertexId from, VertexId to) {
    return FindWith(Routing::kValiant, from, to, 0);
  }
  bool InOneIsland(VertexId from, VertexId to) const {
    return graph_.island(from) && graph_.island(from) == graph_.island(to);
  }
  // The rule that a pair is routed by.
  Routing RoutingOf(VertexId from, VertexId to) const {
    return InOneIsland(from, to) ? routing_.island : routing_.fabric;
  }
  // The same given shares: those that leave no choice are kSpray and kValiant.
  Routing RoutingOf(VertexId from, VertexId to,
                    const std::optional<AdaptiveShares>& shares) const {
    const MachineRouting routing = Settled(routing_, shares);
    return InOneIsland(from, to) ? routing.island : routing.fabric;
  }
  const Intermediates& intermediates() const { return intermediates_; }

  SharedSegments& segments() { return segments_; }

 private:
  absl::StatusOr<Route> FindWith(Routing routing, VertexId from, VertexId to,
                                 uint64_t flow);
  absl::StatusOr<Route> Valiant(VertexId from, VertexId to, uint64_t flow);
  // Sprayed from one to the other by way of `by`; empty if there is no place to
  // turn before a chip that does not forward.
  absl::StatusOr<std::vector<LinkShare>> Detour(VertexId from, VertexId by,
                                                VertexId to, uint64_t flow);
  // Shares every flow of one fabric between its minimal route and a detour, as
  // `share` says.
  absl::Status Adapt(absl::Span<const Demand> demands,
                     absl::Span<const size_t> places,
                     std::optional<double> share, std::vector<Route>& routes);
  std::vector<LinkShare> OnePath(absl::Span<const LinkShare> all, VertexId from,
                                 VertexId to, bool hashed, uint64_t flow);
  Route Finish(std::vector<LinkShare> links) const;

  // The sprayed part between two leaves, and its mean latency; null links if
  // there is no way.
  struct KeptMiddle {
    std::shared_ptr<const std::vector<LinkShare>> links;
    Duration latency{};
  };
  const KeptMiddle& MiddleBetween(VertexId from, VertexId to);

  const Graph& graph_;
  MachineRouting routing_;
  ShortestPaths paths_;
  SharedSegments segments_;
  Intermediates intermediates_;
  absl::flat_hash_map<std::pair<VertexId, VertexId>, KeptMiddle> middles_;
  size_t kept_links_ = 0;
};

}  // namespace orrery
