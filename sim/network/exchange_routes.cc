#include "sim/network/exchange_routes.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/status.h"
#include "sim/network/grid_exchange.h"
#include "sim/network/leaf_exchange.h"
#include "topology/routing/adaptive_split.h"

namespace orrery {
namespace {

class ExchangeFinder {
 public:
  ExchangeFinder(const NetworkResources& resources, Router& router,
                 const std::optional<AdaptiveShares>& shares)
      : graph_(router.graph()),
        resources_(resources),
        router_(router),
        shares_(shares),
        routing_(Settled(router.routing(), shares)),
        dense_(resources.capacities().size()) {}

  absl::Status Add(const std::vector<VertexId>& chips) {
    if (chips.size() < 2) return absl::OkStatus();
    if (OnOneIsland(chips)) return AddInside(chips);
    if (routing_.fabric == Routing::kDimensionOrdered && AddOnGrid(chips)) {
      return absl::OkStatus();
    }
    const std::optional<std::vector<LeafGroup>> leaves =
        LeavesOf(chips, router_);
    if (leaves) return AddLeaves(*leaves, chips);
    return AddPairs(chips);
  }

  ExchangeRoutes Finish() && {
    using Share = std::optional<double>;
    Split(inside_, shares_ ? Share(shares_->inside) : Share());
    Split(between_, shares_ ? Share(shares_->between) : Share());
    ExchangeRoutes result;
    for (size_t i = 0; i < dense_.size(); ++i) {
      if (dense_[i].empty()) continue;
      result.loads.push_back({static_cast<ResourceId>(i), dense_[i]});
    }
    for (const Tier tier : {Tier::kScaleUp, Tier::kScaleOut}) {
      const auto& slowest = slowest_[static_cast<size_t>(tier)];
      if (slowest) result.slowest.push_back({tier, *slowest});
    }
    return result;
  }

 private:
  // What an adaptive router weighs: the traffic of a fabric, sprayed and by
  // detours.
  struct Ways {
    std::vector<double> direct = {};  // by link
    std::vector<double> detours = {};
    std::vector<WayTimes> times = {};
    Tier tier = Tier::kScaleUp;
  };
  Ways& WaysOf(bool inside, Tier tier) {
    Ways& ways = inside ? inside_ : between_;
    ways.direct.resize(graph_.link_count());
    ways.detours.resize(graph_.link_count());
    ways.tier = tier;
    return ways;
  }
  // One split for all pairs of a fabric: the one that is given, or the best.
  void Split(const Ways& ways, std::optional<double> share) {
    if (ways.times.empty()) return;
    const double direct =
        share ? *share : AdaptiveSplit(graph_, ways.direct, ways.detours);
    for (const LinkId id : graph_.links()) {
      const double load = direct * ways.direct[Index(id)] +
                          (1 - direct) * ways.detours[Index(id)];
      if (load != 0) AddLink(id, ways.tier, load);
    }
    for (const WayTimes& times : ways.times) {
      Note(ways.tier, FromSeconds(direct * ToSeconds(times.direct) +
                                  (1 - direct) * ToSeconds(times.detour)));
    }
  }

  absl::Status CheckPairs(int64_t pairs) {
    pairs_ += pairs;
    if (pairs_ <= kMostRoutedPairs) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format(
        "an exchange takes at least {} routes of {} routing, more than the {} "
        "that are found one by one",
        pairs_, RoutingName(router_.routing().fabric), kMostRoutedPairs));
  }

  void AddLink(LinkId link, Tier tier, double amount) {
    dense_[Index(resources_.of(link))].of(tier) += amount;
  }
  void Note(Tier tier, Duration latency) {
    std::optional<Duration>& slowest = slowest_[static_cast<size_t>(tier)];
    slowest = std::max(slowest.value_or(Duration(0)), latency);
  }
  Tier TierBetween(VertexId a, VertexId b) const {
    return graph_.island(a) == graph_.island(b) ? Tier::kScaleUp
                                                : Tier::kScaleOut;
  }

  // The links between a chip and the switches of its island, in the order of
  // the switches; nothing if the chip has another way inside.
  struct Ports {
    std::vector<LinkId> links;
    std::vector<VertexId> elsewhere;  // where its other links lead
  };
  Ports PortsOf(VertexId chip, Direction direction) const {
    Ports ports;
    for (const LinkId id : graph_.links_at(chip, direction)) {
      const VertexId other = graph_.far_end(id, direction);
      if (graph_.kind(other) == VertexKind::kSwitch &&
          graph_.island(other) == graph_.island(chip)) {
        ports.links.push_back(id);
      } else {
        ports.elsewhere.push_back(other);
      }
    }
    std::sort(ports.links.begin(), ports.links.end(), [&](LinkId a, LinkId b) {
      return graph_.far_end(a, direction) < graph_.far_end(b, direction);
    });
    return ports;
  }

  // An island whose chips hang alike on the same switches: one route tells what
  // all are. False if it is none.
  absl::StatusOr<bool> AddSwitched(const std::vector<VertexId>& chips) {
    std::vector<Ports> leaving, entering;
    absl::flat_hash_map<VertexId, VertexId> whose;
    for (const VertexId chip : chips) {
      leaving.push_back(PortsOf(chip, Direction::kLeaving));
      entering.push_back(PortsOf(chip, Direction::kEntering));
      for (const VertexId v : leaving.back().elsewhere) {
        // Two that share a NIC could meet there.
        if (!whose.try_emplace(v, chip).second) return false;
      }
      if (!Alike(leaving[0], leaving.back(), Direction::kLeaving) ||
          !Alike(entering[0], entering.back(), Direction::kEntering)) {
        return false;
      }
    }
    ASSIGN_OR_RETURN(const Route route, router_.Find(chips[0], chips[1]));
    const auto others = static_cast<double>(chips.size() - 1);
    std::vector<std::pair<size_t, double>> out, in;  // places and shares
    for (const LinkShare& l : route.links) {
      const auto place = [&](const Ports& ports) {
        return static_cast<size_t>(
            std::find(ports.links.begin(), ports.links.end(), l.link) -
            ports.links.begin());
      };
      const size_t leaves = place(leaving[0]);
      const size_t enters = place(entering[1]);
      if (leaves < leaving[0].links.size()) {
        out.emplace_back(leaves, l.share);
      } else if (enters < entering[1].links.size()) {
        in.emplace_back(enters, l.share);
      } else {
        return false;
      }
    }
    const Tier tier = TierBetween(chips[0], chips[1]);
    for (size_t i = 0; i < chips.size(); ++i) {
      for (const auto& [place, share] : out) {
        AddLink(leaving[i].links[place], tier, share * others);
      }
      for (const auto& [place, share] : in) {
        AddLink(entering[i].links[place], tier, share * others);
      }
    }
    Note(tier, route.latency);
    return true;
  }
  bool Alike(const Ports& a, const Ports& b, Direction direction) const {
    if (a.links.empty() || a.links.size() != b.links.size()) return false;
    for (size_t i = 0; i < a.links.size(); ++i) {
      const Link& x = graph_.link(a.links[i]);
      const Link& y = graph_.link(b.links[i]);
      if (graph_.far_end(a.links[i], direction) !=
              graph_.far_end(b.links[i], direction) ||
          x.bandwidth != y.bandwidth || x.latency != y.latency ||
          x.cables != y.cables) {
        return false;
      }
    }
    return true;
  }

  absl::Status AddInside(const std::vector<VertexId>& chips) {
    if (chips.size() < 2) return absl::OkStatus();
    switch (routing_.island) {
      case Routing::kSpray:
      case Routing::kMinimal: {
        ASSIGN_OR_RETURN(const bool switched, AddSwitched(chips));
        if (switched) return absl::OkStatus();
        break;
      }
      case Routing::kDimensionOrdered:
        if (AddOnGrid(chips)) return absl::OkStatus();
        break;
      // By pair, or by all of them.
      case Routing::kEcmp:
      case Routing::kValiant:
      case Routing::kAdaptive:
        break;
    }
    return AddPairs(chips);
  }

  absl::Status AddPairs(const std::vector<VertexId>& chips) {
    const auto count = static_cast<int64_t>(chips.size());
    RETURN_IF_ERROR(CheckPairs(count * (count - 1)));
    for (const VertexId a : chips) {
      for (const VertexId b : chips) {
        if (a != b) RETURN_IF_ERROR(AddPair(a, b));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddPair(VertexId a, VertexId b) {
    const Tier tier = TierBetween(a, b);
    const Routing routing = router_.RoutingOf(a, b, shares_);
    if (routing == Routing::kAdaptive) {
      ASSIGN_OR_RETURN(const Route direct, router_.Sprayed(a, b));
      ASSIGN_OR_RETURN(const Route detour, router_.Detoured(a, b));
      Ways& ways = WaysOf(router_.InOneIsland(a, b), tier);
      for (const LinkShare& l : direct.links) {
        ways.direct[Index(l.link)] += l.share;
      }
      for (const LinkShare& l : detour.links) {
        ways.detours[Index(l.link)] += l.share;
      }
      const WayTimes times = {direct.latency, detour.latency};
      if (ways.times.empty() || !(ways.times.back() == times)) {
        ways.times.push_back(times);
      }
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const Route route, routing == Routing::kValiant
                                            ? router_.Detoured(a, b)
                                            : router_.Find(a, b));
    for (const LinkShare& l : route.links) AddLink(l.link, tier, l.share);
    Note(tier, route.latency);
    return absl::OkStatus();
  }

  bool AddOnGrid(const std::vector<VertexId>& chips) {
    std::vector<std::pair<LinkId, double>> loads;
    const std::optional<Duration> farthest = ExchangeOnGrid(
        graph_, chips,
        [&](LinkId link, double units) { loads.emplace_back(link, units); });
    if (!farthest) return false;
    for (const auto& [link, units] : loads) {
      AddLink(link, Tier::kScaleUp, units);
    }
    Note(Tier::kScaleUp, *farthest);
    return true;
  }

  bool OnOneIsland(const std::vector<VertexId>& chips) const {
    return std::all_of(chips.begin(), chips.end(), [&](VertexId chip) {
      return graph_.island(chip) &&
             graph_.island(chip) == graph_.island(chips[0]);
    });
  }

  absl::Status AddLeaves(const std::vector<LeafGroup>& leaves,
                         const std::vector<VertexId>& chips) {
    std::map<int64_t, std::vector<VertexId>> islands;
    for (const VertexId chip : chips) {
      islands[IslandNumber(graph_, chip)].push_back(chip);
    }
    RETURN_IF_ERROR(CheckCounted(leaves, static_cast<int64_t>(chips.size())));
    const Routing routing = routing_.fabric;
    std::optional<LeafDetours> detours;
    if (routing == Routing::kValiant || routing == Routing::kAdaptive) {
      detours = DetoursBetween(leaves, router_);
      if (!detours) return AddPairs(chips);  // Who is cut off is found by it.
    }
    const Tier tier =
        graph_.island(chips[0]) ? Tier::kScaleOut : Tier::kScaleUp;
    Ways* const ways = routing == Routing::kAdaptive
                           ? &WaysOf(/*inside=*/false, tier)
                           : nullptr;
    // A chip's way to its leaf is part of every way.
    const auto add_segment = [&](const SharedSegment& segment, double units) {
      for (const LinkId id : segment.all()) {
        if (ways == nullptr) {
          AddLink(id, tier, units);
        } else {
          ways->direct[Index(id)] += units;
          ways->detours[Index(id)] += units;
        }
      }
    };
    for (const auto& [island, members] : islands) {
      RETURN_IF_ERROR(AddInside(members));
      const auto others = static_cast<double>(chips.size() - members.size());
      if (others == 0) continue;
      for (const VertexId chip : members) {
        add_segment(router_.segments().Leaving(chip), others);
        add_segment(router_.segments().Entering(chip), others);
      }
    }
    if (routing == Routing::kValiant) {
      AddAll(detours->loads, tier);
      for (const WayTimes& times : detours->times) Note(tier, times.detour);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const LeafExchange between,
                     ExchangeBetween(leaves, router_));
    if (ways != nullptr) {
      for (const LinkId id : graph_.links()) {
        ways->direct[Index(id)] += between.loads[Index(id)];
        ways->detours[Index(id)] += detours->loads[Index(id)];
      }
      ways->times.insert(ways->times.end(), detours->times.begin(),
                         detours->times.end());
      return absl::OkStatus();
    }
    AddAll(between.loads, tier);
    if (between.slowest) Note(tier, *between.slowest);
    return absl::OkStatus();
  }
  void AddAll(absl::Span<const double> loads, Tier tier) {
    for (const LinkId id : graph_.links()) {
      if (loads[Index(id)] != 0) AddLink(id, tier, loads[Index(id)]);
    }
  }
  absl::Status CheckCounted(const std::vector<LeafGroup>& leaves,
                            int64_t chips) {
    const auto count = static_cast<int64_t>(leaves.size());
    const Routing routing = routing_.fabric;
    if (routing == Routing::kSpray || routing == Routing::kMinimal) {
      return CheckPairs(count * count);
    }
    if (chips * chips <= kMostHashedPairs) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format(
        "an exchange takes {} routes of {} routing, more than the {} that are "
        "hashed one by one",
        chips * chips, RoutingName(routing), kMostHashedPairs));
  }

  const Graph& graph_;
  const NetworkResources& resources_;
  Router& router_;
  std::optional<AdaptiveShares> shares_;
  MachineRouting routing_;
  int64_t pairs_ = 0;
  std::vector<TierShares> dense_;
  std::optional<Duration> slowest_[kTiers];
  Ways inside_;
  Ways between_;
};

}  // namespace

absl::StatusOr<ExchangeRoutes> FindExchange(
    absl::Span<const VertexId> chips, const RankExchange& exchange,
    const NetworkResources& resources, Router& router,
    const std::optional<AdaptiveShares>& shares) {
  ExchangeFinder finder(resources, router, shares);
  std::map<int32_t, std::vector<VertexId>> sets;
  for (size_t i = 0; i < chips.size(); ++i) {
    sets[exchange.SetOf(static_cast<int32_t>(i))].push_back(chips[i]);
  }
  for (const auto& [set, members] : sets) RETURN_IF_ERROR(finder.Add(members));
  return std::move(finder).Finish();
}

}  // namespace orrery
