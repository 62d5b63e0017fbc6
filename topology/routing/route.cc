#include "topology/routing/route.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/mix_bits.h"
#include "base/status.h"
#include "topology/routing/adaptive_split.h"
#include "topology/routing/dimension_order.h"

namespace orrery {
namespace {

uint64_t Mix(uint64_t x) { return MixBits(x + kSplitMixIncrement); }

uint64_t HashOf(VertexId from, VertexId to, uint64_t flow, uint64_t place) {
  return Mix(Mix(Mix(Mix(Index(from)) ^ Index(to)) ^ flow) ^ place);
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

Duration MeanLatency(const Graph& graph, absl::Span<const LinkShare> links) {
  double latency = 0;
  for (const LinkShare& l : links) {
    latency += l.share * ToSeconds(graph.link(l.link).latency);
  }
  return FromSeconds(latency);
}

Router::Router(const Graph& graph, Routing routing)
    : graph_(graph),
      routing_(routing),
      paths_(graph),
      segments_(graph),
      chips_(Chips(graph)) {}

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

absl::StatusOr<Route> Router::Valiant(VertexId from, VertexId to,
                                      uint64_t flow) {
  if (chips_.size() <= 2) return FindWith(Routing::kSpray, from, to, flow);
  uint64_t hash = HashOf(from, to, flow, 0);
  VertexId by = from;
  while (by == from || by == to) {
    hash = Mix(hash);
    by = chips_[hash % chips_.size()];
  }
  // The intermediate stop may be a chip that does not forward for others.
  ASSIGN_OR_RETURN(Route first, FindWith(Routing::kSpray, from, by, flow));
  ASSIGN_OR_RETURN(const Route second, FindWith(Routing::kSpray, by, to, flow));
  // A turn at the intermediate's own switch does not descend to the chip.
  first.links.insert(first.links.end(), second.links.begin(),
                     second.links.end());
  if (!graph_.forwards(by)) {
    std::erase_if(first.links, [&](const LinkShare& l) {
      const Link& link = graph_.link(l.link);
      return link.from == by || link.to == by;
    });
  }
  return Finish(Merged(std::move(first.links)));
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
  return FindWith(routing_, from, to, flow);
}

absl::StatusOr<std::vector<Route>> Router::FindAll(
    absl::Span<const Demand> demands) {
  const bool adaptive = routing_ == Routing::kAdaptive;
  std::vector<Route> routes;
  std::vector<Route> detours;
  routes.reserve(demands.size());
  for (const Demand& d : demands) {
    ASSIGN_OR_RETURN(Route route, FindWith(routing_, d.from, d.to, d.flow));
    routes.push_back(std::move(route));
    if (!adaptive) continue;
    ASSIGN_OR_RETURN(Route detour, Valiant(d.from, d.to, d.flow));
    detours.push_back(std::move(detour));
  }
  if (!adaptive || demands.size() < 2) return routes;
  const double minimal = AdaptiveSplit(graph_, demands, routes, detours);
  for (size_t i = 0; i < routes.size(); ++i) {
    std::vector<LinkShare> links;
    for (const LinkShare& l : routes[i].links) {
      links.push_back({l.link, l.share * minimal});
    }
    for (const LinkShare& l : detours[i].links) {
      links.push_back({l.link, l.share * (1 - minimal)});
    }
    routes[i] = Finish(Merged(std::move(links)));
  }
  return routes;
}

std::vector<LinkShare> RouteSet::LinksOf(const Entry& route) const {
  std::vector<LinkShare> links;
  for (int32_t i = route.own_begin; i < route.own_end; ++i) {
    links.push_back({own[static_cast<size_t>(i)], 1});
  }
  if (route.middle >= 0) {
    const auto& middle = middles[static_cast<size_t>(route.middle)];
    links.insert(links.end(), middle.begin(), middle.end());
  }
  return links;
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

absl::StatusOr<RouteSet> Router::FindSet(absl::Span<const Demand> demands) {
  RouteSet set;
  set.routes.reserve(demands.size());
  if (routing_ != Routing::kSpray) {
    ASSIGN_OR_RETURN(std::vector<Route> routes, FindAll(demands));
    for (Route& route : routes) {
      set.routes.push_back(
          {0, 0, static_cast<int32_t>(set.middles.size()), route.latency});
      set.middles.push_back(std::move(route.links));
    }
    return set;
  }
  absl::flat_hash_map<std::pair<VertexId, VertexId>, int32_t> known;
  std::vector<Duration> latencies;  // of each middle
  const auto add_middle = [&](absl::Span<const LinkShare> links) {
    set.middles.emplace_back(links.begin(), links.end());
    latencies.push_back(MeanLatency(graph_, links));
    return static_cast<int32_t>(set.middles.size()) - 1;
  };
  for (const Demand& d : demands) {
    const SharedSegment& out = segments_.Leaving(d.from);
    const SharedSegment& in = segments_.Entering(d.to);
    RouteSet::Entry route = {static_cast<int32_t>(set.own.size()), 0, -1};
    if (!CanSplit(graph_, d, out, in)) {
      const absl::Span<const LinkShare> all = paths_.Between(d.from, d.to);
      if (all.empty()) return CutOff(graph_, d.from, d.to);
      route.middle = add_middle(all);
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
          const absl::Span<const LinkShare> all =
              paths_.Between(out.end, in.end);
          if (all.empty()) return CutOff(graph_, d.from, d.to);
          found->second = add_middle(all);
        }
        route.middle = found->second;
      }
    }
    route.own_end = static_cast<int32_t>(set.own.size());
    if (route.middle >= 0) {
      route.latency =
          AddTimes(route.latency, latencies[static_cast<size_t>(route.middle)]);
    }
    set.routes.push_back(route);
  }
  return set;
}

}  // namespace orrery
