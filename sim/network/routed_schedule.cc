#include "sim/network/routed_schedule.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/status.h"

namespace orrery {
namespace {

// Participants of a schedule as vertices: chips, then switches.
class Participants {
 public:
  Participants(const Schedule& schedule, const GroupPlacement& placement)
      : ranks_(schedule.ranks), placement_(placement) {}

  bool IsSwitch(int32_t participant) const { return participant >= ranks_; }
  VertexId Chip(int32_t participant) const {
    return placement_.chips[static_cast<size_t>(participant)];
  }
  // The vertices that together are one switch.
  absl::Span<const VertexId> Switch(int32_t participant) const {
    if (!in_fabric()) return placement_.island_switches;
    return placement_.tree_switches[static_cast<size_t>(participant - ranks_)];
  }
  bool in_fabric() const { return !placement_.tree_switches.empty(); }

 private:
  int32_t ranks_;
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
  for (LinkId id :
       (up ? router.stems().Leaving(chip) : router.stems().Entering(chip))
           .all()) {
    links.push_back({id, 1});
  }
  return links;
}

// In the order of resources, one entry each.
std::vector<ResourceUse> Canonical(std::vector<ResourceUse> uses) {
  std::sort(uses.begin(), uses.end(),
            [](const ResourceUse& a, const ResourceUse& b) {
              return a.resource < b.resource;
            });
  size_t kept = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    if (kept > 0 && uses[kept - 1].resource == uses[i].resource) {
      uses[kept - 1].weight += uses[i].weight;
    } else {
      uses[kept++] = uses[i];
    }
  }
  uses.resize(kept);
  return uses;
}

std::vector<ResourceUse> UsesOf(const NetworkResources& resources,
                                absl::Span<const LinkShare> links) {
  std::vector<ResourceUse> uses;
  uses.reserve(links.size());
  for (const LinkShare& l : links) {
    uses.push_back({resources.of(l.link), l.share});
  }
  return Canonical(std::move(uses));
}

Tier TierBetween(const Graph& graph, VertexId from, VertexId to) {
  return graph.island(from) == graph.island(to) ? Tier::kScaleUp
                                                : Tier::kScaleOut;
}

bool PortBefore(const PortUse& a, const PortUse& b) {
  return a.resource != b.resource ? a.resource < b.resource : a.port < b.port;
}

}  // namespace

const Protocol& ProtocolPair::of(Tier tier) const {
  const Protocol* protocol = tier == Tier::kScaleUp ? scale_up : scale_out;
  CHECK(protocol != nullptr);
  return *protocol;
}

Duration StepLatency(const RoutedSchedule::Way& way,
                     const ProtocolPair& protocols) {
  return std::max(protocols.of(way.tier).step_latency, way.latency);
}

absl::StatusOr<RoutedSchedule> RoutedSchedule::Make(
    const Schedule& schedule, const GroupPlacement& placement,
    const NetworkResources& resources, Router& router,
    Arbitration arbitration) {
  const Graph& graph = router.graph();
  const Participants who(schedule, placement);
  if (schedule.switches > 0 && !who.in_fabric() &&
      (schedule.switches > 1 || placement.island_switches.empty())) {
    return absl::FailedPreconditionError(
        "no switch joins all members of the group");
  }
  RoutedSchedule routed;
  routed.schedule_ = &schedule;
  routed.chips_ = placement.chips;
  routed.way_of_.resize(schedule.messages.size());

  // Ways of pairs of chips are found together, so that an adaptive router sees
  // the whole traffic.
  absl::flat_hash_map<std::pair<int32_t, int32_t>, int32_t> known;
  std::vector<std::pair<int32_t, int32_t>> pairs;
  std::vector<Demand> demands;  // of pairs of chips
  std::vector<int32_t> demand_of;
  for (const Round& round : schedule.rounds) {
    for (int32_t i = round.messages_begin; i < round.messages_end; ++i) {
      const Message& m = schedule.messages[static_cast<size_t>(i)];
      const auto [found, is_new] = known.try_emplace(
          {m.source, m.destination}, static_cast<int32_t>(pairs.size()));
      if (is_new) {
        pairs.push_back({m.source, m.destination});
        const bool chips =
            !who.IsSwitch(m.source) && !who.IsSwitch(m.destination);
        demand_of.push_back(chips ? static_cast<int32_t>(demands.size()) : -1);
        if (chips) {
          demands.push_back({who.Chip(m.source), who.Chip(m.destination), 0});
        }
      }
      const auto way = static_cast<size_t>(found->second);
      routed.way_of_[static_cast<size_t>(i)] = found->second;
      if (demand_of[way] < 0) continue;
      demands[static_cast<size_t>(demand_of[way])].bytes +=
          schedule.ShareOf(m, round) * round.repeat;
    }
  }
  ASSIGN_OR_RETURN(const RouteSet routes, router.FindSet(demands));
  for (const std::vector<LinkShare>& middle : routes.middles) {
    routed.middles_.push_back(UsesOf(resources, middle));
  }
  const bool by_port = arbitration == Arbitration::kPortFair;
  for (size_t w = 0; w < pairs.size(); ++w) {
    if (demand_of[w] < 0) {
      const std::vector<LinkShare> links =
          SwitchLinks(who, router, pairs[w].first, pairs[w].second);
      CHECK(!links.empty());
      const Tier tier = who.in_fabric() && graph.island(placement.chips[0])
                            ? Tier::kScaleOut
                            : Tier::kScaleUp;
      double latency = 0;
      for (const LinkShare& l : links) {
        latency += l.share * ToSeconds(graph.link(l.link).latency);
      }
      routed.ways_.push_back({tier, FromSeconds(latency), 0, 0,
                              static_cast<int32_t>(routed.middles_.size())});
      routed.middles_.push_back(UsesOf(resources, links));
      if (by_port) routed.AddPorts(graph, resources, links);
      continue;
    }
    const auto place = static_cast<size_t>(demand_of[w]);
    const RouteSet::Way& way = routes.ways[place];
    const Demand& d = demands[place];
    const auto begin = static_cast<int32_t>(routed.own_uses_.size());
    for (int32_t i = way.own_begin; i < way.own_end; ++i) {
      routed.own_uses_.push_back(
          {resources.of(routes.own[static_cast<size_t>(i)]), 1});
    }
    routed.ways_.push_back(
        {TierBetween(graph, d.from, d.to), way.latency, begin,
         static_cast<int32_t>(routed.own_uses_.size()), way.middle});
    if (by_port) routed.AddPorts(graph, resources, routes.LinksOf(way));
  }
  routed.AddLoads(resources.capacities().size());
  if (by_port) routed.AddPortLoads();
  return routed;
}

std::vector<ResourceUse> RoutedSchedule::uses(size_t message) const {
  const Way& w = way(message);
  std::vector<ResourceUse> uses(own_uses_.begin() + w.own_begin,
                                own_uses_.begin() + w.own_end);
  if (w.middle >= 0) {
    const auto& middle = middles_[static_cast<size_t>(w.middle)];
    if (uses.empty()) return middle;
    uses.insert(uses.end(), middle.begin(), middle.end());
  }
  return Canonical(std::move(uses));
}

absl::Span<const PortUse> RoutedSchedule::ports(size_t message) const {
  if (ports_.empty()) return {};
  return ports_[static_cast<size_t>(way_of_[message])];
}

// What goes on from a vertex came in by the links that lead there, in
// proportion to what they carry.
void RoutedSchedule::AddPorts(const Graph& graph,
                              const NetworkResources& resources,
                              absl::Span<const LinkShare> links) {
  absl::flat_hash_map<VertexId, std::vector<LinkShare>> arriving;
  for (const LinkShare& l : links) {
    arriving[graph.link(l.link).to].push_back(l);
  }
  std::vector<PortUse> uses;
  for (const LinkShare& l : links) {
    const auto before = arriving.find(graph.link(l.link).from);
    if (before == arriving.end()) {
      uses.push_back({resources.of(l.link), kStartsHere, l.share});
      continue;
    }
    double incoming = 0;
    for (const LinkShare& in : before->second) incoming += in.share;
    for (const LinkShare& in : before->second) {
      uses.push_back({resources.of(l.link), resources.of(in.link),
                      l.share * in.share / incoming});
    }
  }
  std::sort(uses.begin(), uses.end(), PortBefore);
  std::vector<PortUse>& merged = ports_.emplace_back();
  for (const PortUse& use : uses) {
    if (!merged.empty() && !PortBefore(merged.back(), use)) {
      merged.back().weight += use.weight;
    } else {
      merged.push_back(use);
    }
  }
}

void RoutedSchedule::AddLoads(size_t resources) {
  std::vector<Load> dense(resources, {static_cast<ResourceId>(-1), 0, 0});
  std::vector<ResourceId> touched;
  const auto add = [&](ResourceId id, Tier tier, double share) {
    Load& load = dense[Index(id)];
    if (load.scale_up == 0 && load.scale_out == 0) {
      load.resource = id;
      touched.push_back(id);
    }
    (tier == Tier::kScaleUp ? load.scale_up : load.scale_out) += share;
  };
  // A middle has the tier of the ways that use it.
  std::vector<double> through(middles_.size(), 0);
  std::vector<Tier> tiers(middles_.size(), Tier::kScaleUp);
  std::vector<int32_t> middles;
  for (const Phase& phase : schedule_->phases) {
    touched.clear();
    middles.clear();
    for (const Round& round : schedule_->rounds_of(phase)) {
      for (int32_t i = round.messages_begin; i < round.messages_end; ++i) {
        const Way& w = way(static_cast<size_t>(i));
        const double share =
            schedule_->ShareOf(schedule_->messages[static_cast<size_t>(i)],
                               round) *
            round.repeat;
        if (share <= 0) continue;
        for (int32_t u = w.own_begin; u < w.own_end; ++u) {
          const ResourceUse& use = own_uses_[static_cast<size_t>(u)];
          add(use.resource, w.tier, share * use.weight);
        }
        if (w.middle < 0) continue;
        const auto m = static_cast<size_t>(w.middle);
        if (through[m] == 0) middles.push_back(w.middle);
        tiers[m] = w.tier;
        through[m] += share;
      }
    }
    std::sort(middles.begin(), middles.end());
    for (int32_t m : middles) {
      const auto place = static_cast<size_t>(m);
      for (const ResourceUse& use : middles_[place]) {
        add(use.resource, tiers[place], through[place] * use.weight);
      }
      through[place] = 0;
    }
    std::sort(touched.begin(), touched.end());
    std::vector<Load> loads;
    loads.reserve(touched.size());
    for (ResourceId id : touched) {
      loads.push_back(dense[Index(id)]);
      dense[Index(id)] = {id, 0, 0};
    }
    loads_.push_back(std::move(loads));
  }
}

void RoutedSchedule::AddPortLoads() {
  for (const Phase& phase : schedule_->phases) {
    std::map<std::pair<ResourceId, ResourceId>, PortLoad> sums;
    for (const Round& round : schedule_->rounds_of(phase)) {
      for (int32_t i = round.messages_begin; i < round.messages_end; ++i) {
        const auto message = static_cast<size_t>(i);
        const double share =
            schedule_->ShareOf(schedule_->messages[message], round) *
            round.repeat;
        if (share <= 0) continue;
        for (const PortUse& use : ports(message)) {
          PortLoad& sum =
              sums.try_emplace({use.resource, use.port},
                               PortLoad{use.resource, use.port, 0, 0})
                  .first->second;
          (way(message).tier == Tier::kScaleUp ? sum.scale_up
                                               : sum.scale_out) +=
              share * use.weight;
        }
      }
    }
    std::vector<PortLoad>& loads = port_loads_.emplace_back();
    for (const auto& [key, load] : sums) loads.push_back(load);
  }
}

namespace {

// Adds two lists in the order of `key`.
template <class T, class Key>
std::vector<T> Sum(const std::vector<T>& a, const std::vector<T>& b, Key key) {
  std::vector<T> sum;
  sum.reserve(a.size() + b.size());
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() || y != b.end()) {
    if (y == b.end() || (x != a.end() && key(*x) < key(*y))) {
      sum.push_back(*x++);
    } else if (x == a.end() || key(*y) < key(*x)) {
      sum.push_back(*y++);
    } else {
      sum.push_back(*x);
      sum.back().scale_up += y->scale_up;
      sum.back().scale_out += y->scale_out;
      ++x;
      ++y;
    }
  }
  return sum;
}

}  // namespace

void RoutedSchedule::AddLoadsOf(const RoutedSchedule& other) {
  CHECK_EQ(loads_.size(), other.loads_.size());
  for (size_t phase = 0; phase < loads_.size(); ++phase) {
    loads_[phase] = Sum(loads_[phase], other.loads_[phase],
                        [](const Load& l) { return l.resource; });
  }
  for (size_t phase = 0; phase < port_loads_.size(); ++phase) {
    port_loads_[phase] =
        Sum(port_loads_[phase], other.port_loads_[phase],
            [](const PortLoad& l) { return std::pair(l.resource, l.port); });
  }
}

bool RoutedSchedule::touches(Tier tier) const {
  return std::any_of(ways_.begin(), ways_.end(),
                     [&](const Way& way) { return way.tier == tier; });
}

Duration RoutedSchedule::Latency(size_t phase,
                                 const ProtocolPair& protocols) const {
  Duration longest{};
  for (const Round& round : schedule_->rounds_of(schedule_->phases[phase])) {
    Duration slowest{};
    double sum = 0;
    for (int32_t i = round.messages_begin; i < round.messages_end; ++i) {
      const Duration one = StepLatency(way(static_cast<size_t>(i)), protocols);
      slowest = std::max(slowest, one);
      sum += ToSeconds(one);
    }
    // A chunk that goes round a ring meets every hop in turn.
    const double mean = sum / (round.messages_end - round.messages_begin);
    longest =
        std::max(longest, round.repeat == 1 ? slowest
                                            : FromSeconds(mean * round.repeat));
  }
  return longest;
}

}  // namespace orrery
