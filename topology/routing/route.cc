#include "topology/routing/route.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "topology/routing/adaptive_split.h"
#include "topology/routing/dimension_order.h"
#include "topology/routing/route_hash.h"

namespace orrery {
namespace {

uint64_t HashOf(VertexId from, VertexId to, uint64_t flow, uint64_t place) {
  return ChoiceHash(FlowHash(SourceHash(from), to, flow), place);
}

absl::Status CutOff(const Graph& graph, VertexId from, VertexId to) {
  return absl::FailedPreconditionError(
      fmt::format("no path from {} to {}: they are cut off from each other",
                  VertexName(graph, from), VertexName(graph, to)));
}

// Merges repeated links, keeping the first place of each.
std::vector<LinkShare> Merged(std::vector<LinkShare> links) {
  std::vector<size_t> order(links.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return links[a].link < links[b].link;
  });
  for (size_t i = 1; i < order.size(); ++i) {
    LinkShare& before = links[order[i - 1]];
    LinkShare& here = links[order[i]];
    if (before.link != here.link) continue;
    before.share += here.share;
    here.share = 0;
    order[i] = order[i - 1];
  }
  std::erase_if(links, [](const LinkShare& l) { return l.share == 0; });
  return links;
}

}  // namespace

std::string_view RoutingName(Routing routing) {
  switch (routing) {
    case Routing::kMinimal:
      return "minimal";
    case Routing::kDimensionOrdered:
      return "dimension-ordered";
    case Routing::kSpray:
      return "spray";
    case Routing::kEcmp:
      return "ECMP";
    case Routing::kValiant:
      return "Valiant";
    case Routing::kAdaptive:
      return "adaptive";
  }
  return "";
}

MachineRouting Settled(MachineRouting routing,
                       const std::optional<AdaptiveShares>& shares) {
  if (!shares) return routing;
  const auto settle = [](Routing& rule, double share) {
    if (rule != Routing::kAdaptive) return;
    if (share == 1) rule = Routing::kSpray;
    if (share == 0) rule = Routing::kValiant;
  };
  settle(routing.island, shares->inside);
  settle(routing.fabric, shares->between);
  return routing;
}

Duration MeanLatency(const Graph& graph, absl::Span<const LinkShare> links) {
  double latency = 0;
  for (const LinkShare& l : links) {
    latency += l.share * ToSeconds(graph.link(l.link).latency);
  }
  return FromSeconds(latency);
}

Router::Router(const Graph& graph, MachineRouting routing)
    : graph_(graph),
      routing_(routing),
      paths_(graph),
      segments_(graph),
      intermediates_(graph) {}

Route Router::Finish(std::vector<LinkShare> links) const {
  const Duration latency = MeanLatency(graph_, links);
  return {std::move(links), latency};
}

// Follows the links of all shortest paths from one end to the other.
std::vector<LinkShare> Router::OnePath(absl::Span<const LinkShare> all,
                                       VertexId from, VertexId to, bool hashed,
                                       uint64_t flow) {
  std::vector<LinkShare> path;
  std::vector<LinkId> choices;
  VertexId at = from;
  while (at != to) {
    choices.clear();
    for (const LinkShare& l : all) {
      if (graph_.link(l.link).from == at) choices.push_back(l.link);
    }
    CHECK(!choices.empty());
    std::sort(choices.begin(), choices.end());
    const size_t pick =
        hashed ? HashOf(from, to, flow, Index(at)) % choices.size() : 0;
    path.push_back({choices[pick], 1});
    at = graph_.link(choices[pick]).to;
  }
  return path;
}

absl::StatusOr<std::vector<LinkShare>> Router::Detour(VertexId from,
                                                      VertexId by, VertexId to,
                                                      uint64_t flow) {
  ASSIGN_OR_RETURN(Route route, FindWith(Routing::kSpray, from, by, flow));
  ASSIGN_OR_RETURN(const Route second, FindWith(Routing::kSpray, by, to, flow));
  std::vector<LinkShare>& links = route.links;
  links.insert(links.end(), second.links.begin(), second.links.end());
  if (graph_.forwards(by)) return std::move(links);
  // Traffic turns at the switch that the intermediate hangs on, and goes down
  // neither to the chip nor to its NICs.
  const auto is_below = [&](VertexId v) {
    if (v == by) return true;
    if (graph_.kind(v) != VertexKind::kNic) return false;
    const absl::Span<const LinkId> leaving = graph_.leaving(v);
    return std::any_of(leaving.begin(), leaving.end(),
                       [&](LinkId id) { return graph_.link(id).to == by; });
  };
  std::erase_if(links, [&](const LinkShare& l) {
    const Link& link = graph_.link(l.link);
    return is_below(link.from) || is_below(link.to);
  });
  // What comes to each place on the way must go on from it.
  constexpr double kRounding = 1e-9;
  absl::flat_hash_map<VertexId, double> left;
  left[from] = 1;
  left[to] = -1;
  for (const LinkShare& l : links) {
    left[graph_.link(l.link).from] -= l.share;
    left[graph_.link(l.link).to] += l.share;
  }
  for (const auto& [vertex, share] : left) {
    if (std::abs(share) > kRounding) return std::vector<LinkShare>();
  }
  return std::move(links);
}

absl::StatusOr<Route> Router::Valiant(VertexId from, VertexId to,
                                      uint64_t flow) {
  if (const std::optional<VertexId> by = intermediates_.Of(from, to, flow)) {
    ASSIGN_OR_RETURN(std::vector<LinkShare> links, Detour(from, *by, to, flow));
    if (!links.empty()) return Finish(Merged(std::move(links)));
  }
  return FindWith(Routing::kSpray, from, to, flow);
}

absl::StatusOr<Route> Router::FindWith(Routing routing, VertexId from,
                                       VertexId to, uint64_t flow) {
  CHECK(from != to);
  if (routing == Routing::kValiant) return Valiant(from, to, flow);
  if (routing == Routing::kDimensionOrdered) {
    std::vector<LinkShare> links = DimensionOrder(graph_, from, to);
    if (!links.empty()) return Finish(std::move(links));
  }
  const absl::Span<const LinkShare> all = paths_.Between(from, to);
  if (all.empty()) {
    return CutOff(graph_, from, to);
  }
  switch (routing) {
    case Routing::kMinimal:
    case Routing::kDimensionOrdered:
      return Finish(OnePath(all, from, to, false, flow));
    case Routing::kEcmp:
      return Finish(OnePath(all, from, to, true, flow));
    case Routing::kSpray:
    case Routing::kAdaptive:
    case Routing::kValiant:
      break;
  }
  return Finish({all.begin(), all.end()});
}

absl::StatusOr<Route> Router::Find(VertexId from, VertexId to, uint64_t flow) {
  return FindWith(RoutingOf(from, to), from, to, flow);
}

absl::Status Router::Adapt(absl::Span<const Demand> demands,
                           absl::Span<const size_t> places,
                           std::optional<double> share,
                           std::vector<Route>& routes) {
  if (places.empty()) return absl::OkStatus();
  if (places.size() == 1 && !share) return absl::OkStatus();
  std::vector<Demand> own;
  std::vector<Route> direct;
  std::vector<Route> detours;
  for (size_t place : places) {
    const Demand& d = demands[place];
    ASSIGN_OR_RETURN(Route detour, Valiant(d.from, d.to, d.flow));
    detours.push_back(std::move(detour));
    direct.push_back(std::move(routes[place]));
    own.push_back(d);
  }
  const double minimal =
      share ? *share : AdaptiveSplit(graph_, own, direct, detours);
  for (size_t i = 0; i < places.size(); ++i) {
    std::vector<LinkShare> links;
    for (const LinkShare& l : direct[i].links) {
      links.push_back({l.link, l.share * minimal});
    }
    for (const LinkShare& l : detours[i].links) {
      links.push_back({l.link, l.share * (1 - minimal)});
    }
    routes[places[i]] = Finish(Merged(std::move(links)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Route>> Router::FindAll(
    absl::Span<const Demand> demands,
    const std::optional<AdaptiveShares>& shares) {
  std::vector<Route> routes;
  routes.reserve(demands.size());
  std::vector<size_t> inside;  // of islands, and adaptive
  std::vector<size_t> between;
  for (const Demand& d : demands) {
    const Routing routing = RoutingOf(d.from, d.to, shares);
    ASSIGN_OR_RETURN(Route route, FindWith(routing, d.from, d.to, d.flow));
    if (routing == Routing::kAdaptive) {
      (InOneIsland(d.from, d.to) ? inside : between).push_back(routes.size());
    }
    routes.push_back(std::move(route));
  }
  using Share = std::optional<double>;
  RETURN_IF_ERROR(
      Adapt(demands, inside, shares ? Share(shares->inside) : Share(), routes));
  RETURN_IF_ERROR(Adapt(demands, between,
                        shares ? Share(shares->between) : Share(), routes));
  return routes;
}

namespace {

// Whether both segments can be cut off a pair's paths: the middle is then
// looked for where the pair itself would be, and no link is on both.
bool CanSplit(const Graph& graph, const Demand& d, const SharedSegment& out,
              const SharedSegment& in) {
  if (out.count == 0 || in.count == 0) return false;
  if (graph.island(d.from) && graph.island(d.from) == graph.island(d.to)) {
    return false;
  }
  if (graph.group(out.end) != graph.group(d.from) ||
      graph.group(in.end) != graph.group(d.to)) {
    return false;
  }
  for (LinkId a : out.all()) {
    for (LinkId b : in.all()) {
      const Link& x = graph.link(a);
      const Link& y = graph.link(b);
      if (x.from == y.from || x.from == y.to || x.to == y.to) return false;
    }
  }
  return true;
}

}  // namespace

const Router::KeptMiddle& Router::MiddleBetween(VertexId from, VertexId to) {
  KeptMiddle& kept = middles_[{from, to}];
  if (kept.links != nullptr) return kept;
  const absl::Span<const LinkShare> all = paths_.Between(from, to);
  if (all.empty()) return kept;
  std::vector<LinkShare> links =
      routing_.fabric == Routing::kMinimal
          ? OnePath(all, from, to, /*hashed=*/false, 0)
          : std::vector<LinkShare>(all.begin(), all.end());
  kept.latency = MeanLatency(graph_, links);
  kept_links_ += links.size();
  kept.links = std::make_shared<std::vector<LinkShare>>(std::move(links));
  return kept;
}

absl::StatusOr<RouteSet> Router::FindSet(
    absl::Span<const Demand> demands,
    const std::optional<AdaptiveShares>& shares) {
  // 64 MB of them; sets have those they use.
  constexpr size_t kMostKeptLinks = 4 << 20;
  if (kept_links_ > kMostKeptLinks) {
    middles_.clear();
    kept_links_ = 0;
  }
  RouteSet set;
  set.routes.resize(demands.size());
  // Between leaves these take the same way for all end points on them.
  std::vector<size_t> sprayed;
  std::vector<size_t> others;
  std::vector<Demand> other_demands;
  for (size_t i = 0; i < demands.size(); ++i) {
    const Demand& d = demands[i];
    const Routing routing = RoutingOf(d.from, d.to, shares);
    if (routing == Routing::kSpray ||
        (routing == Routing::kMinimal &&
         CanSplit(graph_, d, segments_.Leaving(d.from),
                  segments_.Entering(d.to)))) {
      sprayed.push_back(i);
    } else {
      others.push_back(i);
      other_demands.push_back(d);
    }
  }
  ASSIGN_OR_RETURN(std::vector<Route> routes, FindAll(other_demands, shares));
  for (size_t i = 0; i < others.size(); ++i) {
    set.routes[others[i]] = {0, 0, static_cast<int32_t>(set.middles.size()),
                             routes[i].latency};
    set.middles.push_back(
        {std::make_shared<std::vector<LinkShare>>(std::move(routes[i].links))});
  }
  absl::flat_hash_map<std::pair<VertexId, VertexId>, int32_t> known;
  std::vector<Duration> latencies(set.middles.size());  // of each middle
  const auto add_middle = [&](RouteSet::Middle middle, Duration latency) {
    set.middles.push_back(std::move(middle));
    latencies.push_back(latency);
    return static_cast<int32_t>(set.middles.size()) - 1;
  };
  for (const size_t place : sprayed) {
    const Demand& d = demands[place];
    const SharedSegment& out = segments_.Leaving(d.from);
    const SharedSegment& in = segments_.Entering(d.to);
    RouteSet::Entry route = {static_cast<int32_t>(set.own.size()), 0, -1};
    if (!CanSplit(graph_, d, out, in)) {
      const absl::Span<const LinkShare> all = paths_.Between(d.from, d.to);
      if (all.empty()) return CutOff(graph_, d.from, d.to);
      route.middle = add_middle(
          {std::make_shared<std::vector<LinkShare>>(all.begin(), all.end())},
          MeanLatency(graph_, all));
    } else {
      for (const SharedSegment* segment : {&out, &in}) {
        for (LinkId id : segment->all()) {
          set.own.push_back(id);
          route.latency = AddTimes(route.latency, graph_.link(id).latency);
        }
      }
      if (out.end != in.end) {
        const auto [found, is_new] = known.try_emplace({out.end, in.end}, -1);
        if (is_new) {
          const KeptMiddle& middle = MiddleBetween(out.end, in.end);
          if (middle.links == nullptr) return CutOff(graph_, d.from, d.to);
          found->second =
              add_middle({middle.links, /*kept=*/true}, middle.latency);
        }
        route.middle = found->second;
      }
    }
    route.own_end = static_cast<int32_t>(set.own.size());
    if (route.middle >= 0) {
      route.latency =
          AddTimes(route.latency, latencies[static_cast<size_t>(route.middle)]);
    }
    set.routes[place] = route;
  }
  return set;
}

}  // namespace orrery
