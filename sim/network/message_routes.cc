#include "sim/network/message_routes.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "sim/sharing/keyed_sum.h"

namespace orrery {
namespace {

// Participants of a schedule as vertices: chips, then switches.
class Participants {
 public:
  Participants(const Schedule& schedule, const GroupPlacement& placement)
      : ranks_(schedule.ranks),
        per_island_(schedule.switch_per_island),
        placement_(placement) {}

  bool IsSwitch(int32_t participant) const { return participant >= ranks_; }
  VertexId Chip(int32_t participant) const {
    return placement_.chips[static_cast<size_t>(participant)];
  }
  // The vertices that together are one switch.
  absl::Span<const VertexId> Switch(int32_t participant) const {
    const auto number = static_cast<size_t>(participant - ranks_);
    if (per_island_) return placement_.switches_of_islands[number];
    if (!in_fabric()) return placement_.island_switches;
    return placement_.tree_switches[number];
  }
  bool in_fabric() const {
    return !per_island_ && !placement_.tree_switches.empty();
  }
  // Whether as many are there as the schedule needs.
  bool HasSwitches(int32_t switches) const {
    if (switches == 0 || in_fabric()) return true;
    if (per_island_) {
      return placement_.switches_of_islands.size() ==
             static_cast<size_t>(switches);
    }
    return switches == 1 && !placement_.island_switches.empty();
  }

 private:
  int32_t ranks_;
  bool per_island_;
  const GroupPlacement& placement_;
};

bool Holds(absl::Span<const VertexId> vertices, VertexId v) {
  return std::find(vertices.begin(), vertices.end(), v) != vertices.end();
}

// All links from one set of vertices to another, each with its part of the
// bandwidth.
std::vector<LinkShare> Between(const Graph& graph,
                               absl::Span<const VertexId> from,
                               absl::Span<const VertexId> to) {
  std::vector<LinkShare> links;
  double bandwidth = 0;
  for (VertexId v : from) {
    for (LinkId id : graph.leaving(v)) {
      if (!Holds(to, graph.link(id).to)) continue;
      links.push_back({id, graph.link(id).bandwidth.value()});
      bandwidth += links.back().share;
    }
  }
  for (LinkShare& l : links) l.share /= bandwidth;
  return links;
}

// The links of a message from or to a switch that reduces.
std::vector<LinkShare> SwitchLinks(const Participants& who, Router& router,
                                   int32_t source, int32_t destination) {
  const Graph& graph = router.graph();
  if (who.IsSwitch(source) && who.IsSwitch(destination)) {
    return Between(graph, who.Switch(source), who.Switch(destination));
  }
  const bool up = who.IsSwitch(destination);
  const VertexId chip = who.Chip(up ? source : destination);
  if (!who.in_fabric()) {
    return up ? Between(graph, {&chip, 1}, who.Switch(destination))
              : Between(graph, who.Switch(source), {&chip, 1});
  }
  std::vector<LinkShare> links;
  SharedSegments& segments = router.segments();
  for (LinkId id :
       (up ? segments.Leaving(chip) : segments.Entering(chip)).all()) {
    links.push_back({id, 1});
  }
  return links;
}

Tier TierBetween(const Graph& graph, VertexId from, VertexId to) {
  return graph.island(from) == graph.island(to) ? Tier::kScaleUp
                                                : Tier::kScaleOut;
}

// Each pair of participants that a schedule has messages for, once, in the
// order of their first messages.
struct Pairs {
  struct Pair {
    int32_t source;
    int32_t destination;
    int32_t demand;  // in `demands`, or -1: one of them is a switch
  };
  std::vector<Pair> pairs;
  std::vector<Demand> demands;      // of pairs of chips
  std::vector<int32_t> of_message;  // places in `pairs`
};

Pairs PairsOf(const Schedule& schedule, const Participants& who) {
  Pairs result;
  result.of_message.resize(schedule.messages.size());
  absl::flat_hash_map<std::pair<int32_t, int32_t>, int32_t> known;
  for (const Round& round : schedule.rounds) {
    for (int32_t i = round.messages_begin; i < round.messages_end; ++i) {
      const Message& m = schedule.messages[static_cast<size_t>(i)];
      const auto [found, is_new] = known.try_emplace(
          {m.source, m.destination}, static_cast<int32_t>(result.pairs.size()));
      if (is_new) {
        int32_t demand = -1;
        if (!who.IsSwitch(m.source) && !who.IsSwitch(m.destination)) {
          demand = static_cast<int32_t>(result.demands.size());
          result.demands.push_back(
              {who.Chip(m.source), who.Chip(m.destination), 0});
        }
        result.pairs.push_back({m.source, m.destination, demand});
      }
      result.of_message[static_cast<size_t>(i)] = found->second;
      const int32_t demand =
          result.pairs[static_cast<size_t>(found->second)].demand;
      if (demand < 0) continue;
      result.demands[static_cast<size_t>(demand)].bytes +=
          schedule.TotalShareOf(m, round);
    }
  }
  return result;
}

}  // namespace

Duration StepLatency(Tier tier, Duration links, const ProtocolPair& protocols) {
  return std::max(protocols.of(tier).step_latency, links);
}

absl::StatusOr<MessageRoutes> MessageRoutes::Find(
    const Schedule& schedule, const GroupPlacement& placement,
    const NetworkResources& resources, Router& router,
    const std::optional<AdaptiveShares>& shares, RoutingScratch& scratch) {
  const Graph& graph = router.graph();
  const Participants who(schedule, placement);
  if (!who.HasSwitches(schedule.switches)) {
    return absl::FailedPreconditionError(
        "no switch joins all members of the group");
  }
  // Routes of pairs of chips are found together, so that an adaptive router
  // sees the whole traffic.
  Pairs pairs = PairsOf(schedule, who);
  ASSIGN_OR_RETURN(const RouteSet found, router.FindSet(pairs.demands, shares));
  MessageRoutes result;
  result.route_of_ = std::move(pairs.of_message);
  for (const RouteSet::Middle& middle : found.middles) {
    result.middles_.push_back(scratch.UsesOf(middle, resources));
  }
  result.routes_.reserve(pairs.pairs.size());
  for (const Pairs::Pair& pair : pairs.pairs) {
    if (pair.demand < 0) {
      const std::vector<LinkShare> links =
          SwitchLinks(who, router, pair.source, pair.destination);
      CHECK(!links.empty());
      const Tier tier = who.in_fabric() && graph.island(placement.chips[0])
                            ? Tier::kScaleOut
                            : Tier::kScaleUp;
      result.routes_.push_back({tier, MeanLatency(graph, links), 0, 0,
                                static_cast<int32_t>(result.middles_.size())});
      result.middles_.push_back(
          std::make_shared<std::vector<ResourceUse>>(UsesOf(resources, links)));
      continue;
    }
    const auto place = static_cast<size_t>(pair.demand);
    const RouteSet::Entry& route = found.routes[place];
    const Demand& d = pairs.demands[place];
    const auto begin = static_cast<int32_t>(result.own_uses_.size());
    for (int32_t i = route.own_begin; i < route.own_end; ++i) {
      result.own_uses_.push_back(
          {resources.of(found.own[static_cast<size_t>(i)]), 1});
    }
    result.routes_.push_back(
        {TierBetween(graph, d.from, d.to), route.latency, begin,
         static_cast<int32_t>(result.own_uses_.size()), route.middle});
  }
  return result;
}

std::vector<ResourceUse> MessageRoutes::uses(size_t message) const {
  const Route& route = of(message);
  const absl::Span<const ResourceUse> own = own_uses(route);
  std::vector<ResourceUse> uses(own.begin(), own.end());
  if (route.middle >= 0) {
    const auto& middle = *middles_[static_cast<size_t>(route.middle)];
    if (uses.empty()) return middle;
    uses.insert(uses.end(), middle.begin(), middle.end());
  }
  return Canonical(std::move(uses));
}

}  // namespace orrery
