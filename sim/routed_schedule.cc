#include "sim/routed_schedule.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status.h"

namespace orrery {
namespace {

// Participants as vertices: chips, then the island's switches as one.
class Participants {
 public:
  Participants(const Schedule& schedule, const GroupPlacement& placement)
      : schedule_(schedule), placement_(placement) {}

  bool IsSwitch(int32_t participant) const {
    return participant >= schedule_.ranks;
  }
  VertexId Chip(int32_t participant) const {
    return placement_.chips[static_cast<size_t>(participant)];
  }
  absl::Span<const VertexId> switches() const {
    return placement_.island_switches;
  }

 private:
  const Schedule& schedule_;
  const GroupPlacement& placement_;
};

// Between a chip and the switches it hangs on: spread evenly over them.
std::vector<LinkShare> ToSwitches(const Graph& graph, VertexId chip,
                                  absl::Span<const VertexId> switches,
                                  bool up) {
  std::vector<LinkShare> links;
  for (LinkId id : up ? graph.leaving(chip) : graph.entering(chip)) {
    const VertexId other = up ? graph.link(id).to : graph.link(id).from;
    if (std::find(switches.begin(), switches.end(), other) != switches.end()) {
      links.push_back({id, 1.0 / static_cast<double>(switches.size())});
    }
  }
  return links;
}

RoutedSchedule::Way MakeWay(const NetworkResources& resources,
                            absl::Span<const LinkShare> links, Duration latency,
                            Tier tier) {
  RoutedSchedule::Way way = {tier, latency, {}};
  for (const LinkShare& l : links) {
    way.uses.push_back({resources.of(l.link), l.share});
  }
  std::sort(way.uses.begin(), way.uses.end(),
            [](const ResourceUse& a, const ResourceUse& b) {
              return a.resource < b.resource;
            });
  size_t kept = 0;
  for (size_t i = 0; i < way.uses.size(); ++i) {
    if (kept > 0 && way.uses[kept - 1].resource == way.uses[i].resource) {
      way.uses[kept - 1].weight += way.uses[i].weight;
    } else {
      way.uses[kept++] = way.uses[i];
    }
  }
  way.uses.resize(kept);
  return way;
}

Tier TierBetween(const Graph& graph, VertexId from, VertexId to) {
  return graph.island(from) == graph.island(to) ? Tier::kScaleUp
                                                : Tier::kScaleOut;
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
    const NetworkResources& resources, Router& router) {
  const Graph& graph = router.graph();
  const Participants participants(schedule, placement);
  if (schedule.switches > 1 ||
      (schedule.switches == 1 && placement.island_switches.empty())) {
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
  std::vector<Demand> demands;
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (const Round& round : schedule.rounds) {
    for (int32_t i = round.messages_begin; i < round.messages_end; ++i) {
      const Message& m = schedule.messages[static_cast<size_t>(i)];
      const auto [found, is_new] = known.try_emplace(
          {m.source, m.destination}, static_cast<int32_t>(pairs.size()));
      const bool chips = !participants.IsSwitch(m.source) &&
                         !participants.IsSwitch(m.destination);
      if (is_new) {
        pairs.push_back({m.source, m.destination});
        demands.push_back(
            {chips ? participants.Chip(m.source) : VertexId{},
             chips ? participants.Chip(m.destination) : VertexId{}, 0});
      }
      routed.way_of_[static_cast<size_t>(i)] = found->second;
      demands[static_cast<size_t>(found->second)].bytes +=
          schedule.ShareOf(m, round) * round.repeat;
    }
  }
  std::vector<Demand> between_chips;
  for (const Demand& d : demands) {
    if (d.from != d.to) between_chips.push_back(d);
  }
  ASSIGN_OR_RETURN(const std::vector<Route> routes,
                   router.FindAll(between_chips));
  size_t next_route = 0;
  for (size_t w = 0; w < pairs.size(); ++w) {
    const Demand& d = demands[w];
    if (d.from != d.to) {
      const Route& route = routes[next_route++];
      routed.ways_.push_back(MakeWay(resources, route.links, route.latency,
                                     TierBetween(graph, d.from, d.to)));
      continue;
    }
    const bool up = participants.IsSwitch(pairs[w].second);
    const VertexId chip =
        participants.Chip(up ? pairs[w].first : pairs[w].second);
    const std::vector<LinkShare> links =
        ToSwitches(graph, chip, participants.switches(), up);
    routed.ways_.push_back(MakeWay(
        resources, links, graph.link(links[0].link).latency, Tier::kScaleUp));
  }

  std::vector<Load> dense(resources.capacities().size(),
                          {static_cast<ResourceId>(-1), 0, 0});
  std::vector<ResourceId> touched;
  for (const Phase& phase : schedule.phases) {
    touched.clear();
    for (const Round& round : schedule.rounds_of(phase)) {
      for (int32_t i = round.messages_begin; i < round.messages_end; ++i) {
        const Way& way = routed.way(static_cast<size_t>(i));
        const double share =
            schedule.ShareOf(schedule.messages[static_cast<size_t>(i)], round) *
            round.repeat;
        for (const ResourceUse& use : way.uses) {
          Load& load = dense[Index(use.resource)];
          if (load.scale_up == 0 && load.scale_out == 0) {
            load.resource = use.resource;
            touched.push_back(use.resource);
          }
          (way.tier == Tier::kScaleUp ? load.scale_up : load.scale_out) +=
              share * use.weight;
        }
      }
    }
    std::sort(touched.begin(), touched.end());
    std::vector<Load> loads;
    loads.reserve(touched.size());
    for (ResourceId id : touched) {
      loads.push_back(dense[Index(id)]);
      dense[Index(id)] = {id, 0, 0};
    }
    routed.loads_.push_back(std::move(loads));
  }
  return routed;
}

void RoutedSchedule::AddLoadsOf(const RoutedSchedule& other) {
  CHECK_EQ(loads_.size(), other.loads_.size());
  for (size_t phase = 0; phase < loads_.size(); ++phase) {
    std::vector<Load> sum;
    sum.reserve(loads_[phase].size() + other.loads_[phase].size());
    auto a = loads_[phase].begin();
    auto b = other.loads_[phase].begin();
    while (a != loads_[phase].end() || b != other.loads_[phase].end()) {
      if (b == other.loads_[phase].end() ||
          (a != loads_[phase].end() && a->resource < b->resource)) {
        sum.push_back(*a++);
      } else if (a == loads_[phase].end() || b->resource < a->resource) {
        sum.push_back(*b++);
      } else {
        sum.push_back({a->resource, a->scale_up + b->scale_up,
                       a->scale_out + b->scale_out});
        ++a;
        ++b;
      }
    }
    loads_[phase] = std::move(sum);
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
