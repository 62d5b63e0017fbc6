#include "sim/network/network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "topology/collectives/collective_expert.h"
#include "topology/collectives/collective_traffic.h"
#include "topology/graph/build.h"

namespace orrery {
namespace {

// In a fluid plan a segment costs nothing to simulate, and what filling a
// pipeline costs is the protocol's fill latency; message by message each one
// costs, and a few show the shape.
constexpr int32_t kFluidSegments = 1024;
constexpr int32_t kSteppedSegments = 16;

ProtocolUse UseOf(CommunicationKind kind, CollectiveAlgorithm algorithm) {
  if (algorithm == CollectiveAlgorithm::kSwitchMulticast ||
      algorithm == CollectiveAlgorithm::kReductionTree) {
    return ProtocolUse::kInSwitch;
  }
  if (kind == CommunicationKind::kAllToAll ||
      kind == CommunicationKind::kPointToPoint) {
    return ProtocolUse::kPointToPoint;
  }
  return algorithm == CollectiveAlgorithm::kDoubleBinaryTree
             ? ProtocolUse::kTree
             : ProtocolUse::kRing;
}

// Routing of the fabric that the machine's traffic mostly crosses.
Routing RoutingOf(const System& system) {
  if (system.scale_out()) return system.scale_out()->fabric.routing;
  if (system.scale_up()) return system.scale_up()->fabric.routing;
  return Routing::kSpray;
}

// Protocols of a call's tiers go by one name.
const std::string& ProtocolName(const ProtocolPair& protocols) {
  return (protocols.scale_out != nullptr ? protocols.scale_out
                                         : protocols.scale_up)
      ->name;
}

// The traffic with members in another order.
ExpertTraffic InOrder(const ExpertTraffic& traffic,
                      absl::Span<const VertexId> from,
                      absl::Span<const VertexId> to) {
  ExpertTraffic result = traffic;
  for (size_t i = 0; i < to.size(); ++i) {
    const auto place = std::find(from.begin(), from.end(), to[i]);
    CHECK(place != from.end());
    result.share[i] = traffic.share[static_cast<size_t>(place - from.begin())];
  }
  return result;
}

// Whether the switches of a fabric add up what they forward.
bool Reduces(const Fabric& fabric) {
  if (const auto* f = std::get_if<SwitchFabric>(&fabric.kind)) {
    return f->reduces;
  }
  if (const auto* f = std::get_if<FatTreeFabric>(&fabric.kind)) {
    return f->reduces;
  }
  if (const auto* f = std::get_if<RailOptimizedFabric>(&fabric.kind)) {
    return f->reduces;
  }
  return false;
}

bool IslandSprays(const System& system) {
  return system.scale_up() &&
         std::holds_alternative<SwitchFabric>(system.scale_up()->fabric.kind);
}

}  // namespace

Network::Network(const System& system, NetworkOptions options, Graph graph)
    : calibration_(system.collectives()),
      options_(std::move(options)),
      graph_(std::make_unique<const Graph>(std::move(graph))),
      resources_(std::make_unique<const NetworkResources>(
          *graph_, IslandSprays(system))),
      router_(std::make_unique<Router>(*graph_, RoutingOf(system))) {
  if (system.scale_up()) {
    island_reduces_ = Reduces(system.scale_up()->fabric);
    fabric_reduces_ = island_reduces_ && system.scale_up()->spans_nodes;
  }
  if (system.scale_out()) {
    fabric_reduces_ = Reduces(system.scale_out()->fabric);
  }
  fabric_sprays_ = RoutingOf(system) == Routing::kSpray ||
                   RoutingOf(system) == Routing::kAdaptive;
}

absl::StatusOr<Network> Network::Make(const System& system,
                                      NetworkOptions options) {
  ASSIGN_OR_RETURN(Graph graph, BuildGraph(system));
  return Network(system, std::move(options), std::move(graph));
}

bool Network::LibraryHas(CommunicationKind kind,
                         CollectiveAlgorithm algorithm) const {
  const auto& known = calibration_.algorithms;
  const auto has = [&](const std::string& name) {
    return std::find(known.begin(), known.end(), name) != known.end();
  };
  return known.empty() || has(std::string(NameOf(algorithm))) ||
         has(fmt::format("{}/{}", NameOf(kind), NameOf(algorithm)));
}

bool Network::HasSwitchesFor(CollectiveAlgorithm algorithm,
                             const GroupPlacement& placement) const {
  if (island_reduces_ && !placement.island_switches.empty()) return true;
  return algorithm == CollectiveAlgorithm::kReductionTree &&
         !placement.tree_switches.empty();
}

std::vector<CollectiveAlgorithm> Network::Algorithms(
    const CollectiveCall& call, const GroupPlacement& placement) const {
  if (call.traffic != nullptr) {
    return {call.traffic->by_island ? CollectiveAlgorithm::kHierarchical
                                    : CollectiveAlgorithm::kDirect};
  }
  if (options_.algorithm) return {*options_.algorithm};
  std::vector<CollectiveAlgorithm> algorithms;
  std::vector<CollectiveAlgorithm> all =
      Applicable(call.kind, placement.layout);
  // In-network reduction only where the hardware has it.
  std::erase_if(all, [&](CollectiveAlgorithm a) {
    return UseOf(call.kind, a) == ProtocolUse::kInSwitch &&
           !HasSwitchesFor(a, placement);
  });
  for (CollectiveAlgorithm a : all) {
    // A library's trees of switches are those of the fabric between islands;
    // inside one it multicasts.
    if (a == CollectiveAlgorithm::kReductionTree &&
        placement.tree_switches.empty() && !calibration_.algorithms.empty()) {
      continue;
    }
    if (LibraryHas(call.kind, a)) algorithms.push_back(a);
  }
  // A library that has nothing for this kind is given what there is.
  return algorithms.empty() ? all : algorithms;
}

const Network::Kept& Network::Routed(const CollectiveCall& call,
                                     CollectiveAlgorithm algorithm,
                                     absl::Span<const VertexId> chips,
                                     const GroupPlacement& placement) {
  const bool mutual = call.around && chips.size() == 2;
  const int route = mutual                    ? 3
                    : call.traffic == nullptr ? 0
                    : call.combine            ? 2
                                              : 1;
  std::unique_ptr<Kept>& kept =
      kept_[{call.kind, algorithm, route, placement.chips}];
  if (kept != nullptr) return *kept;
  kept = std::make_unique<Kept>();
  const int32_t segments = options_.segments.value_or(
      options_.fidelity == Fidelity::kStepped ? kSteppedSegments
                                              : kFluidSegments);
  absl::StatusOr<Schedule> schedule =
      mutual ? TrafficSchedule(2, {0, 1, 1, 0}, /*pairwise=*/false)
      : call.traffic == nullptr
          ? MakeSchedule(call.kind, algorithm, placement.layout, segments)
          : ExpertSchedule(placement.layout,
                           InOrder(*call.traffic, chips, placement.chips),
                           call.combine);
  kept->why_not = schedule.status();
  if (!schedule.ok()) return *kept;
  kept->schedule = *std::move(schedule);
  absl::StatusOr<RoutedSchedule> routed = RoutedSchedule::Make(
      kept->schedule, placement, *resources_, *router_, options_.arbitration);
  kept->why_not = routed.status();
  if (routed.ok()) kept->routed = *std::move(routed);
  return *kept;
}

std::vector<ProtocolPair> Network::Protocols(
    CollectiveAlgorithm algorithm, const RoutedSchedule& routed) const {
  const ProtocolUse use = UseOf(routed.schedule().kind, algorithm);
  const bool up = routed.touches(Tier::kScaleUp);
  const bool out = routed.touches(Tier::kScaleOut);
  std::vector<ProtocolPair> pairs;
  const auto wanted = [&](const Protocol* p) {
    return !options_.protocol || p->name == *options_.protocol;
  };
  // A tree of switches between islands goes on inside them by rings.
  const bool rings_inside =
      out && algorithm == CollectiveAlgorithm::kReductionTree;
  const auto ups =
      calibration_.For(Tier::kScaleUp, rings_inside ? ProtocolUse::kRing : use);
  const auto outs = calibration_.For(Tier::kScaleOut, use);
  if (!out) {
    for (const Protocol* p : ups) {
      if (wanted(p)) pairs.push_back({p, nullptr});
    }
    return pairs;
  }
  for (const Protocol* q : outs) {
    if (!wanted(q)) continue;
    if (!up) {
      pairs.push_back({nullptr, q});
      continue;
    }
    for (const Protocol* p : ups) {
      if (rings_inside || p->name == q->name) pairs.push_back({p, q});
    }
  }
  return pairs;
}

CallOverhead Network::Overhead(const CollectiveCall& call,
                               const ProtocolPair& protocols,
                               const CollectivePlan& plan) const {
  CallOverhead overhead;
  double fill = 0;
  for (const Protocol* p : {protocols.scale_up, protocols.scale_out}) {
    if (p == nullptr) continue;
    overhead.base = std::max(overhead.base, p->base_latency);
    fill = std::max(fill, ToSeconds(p->fill_latency));
  }
  double alongside = 2 * std::sqrt(fill * plan.WireTime());
  const bool has_own_part = call.kind != CommunicationKind::kPointToPoint &&
                            call.kind != CommunicationKind::kBroadcast;
  if (calibration_.local_bandwidth && has_own_part) {
    alongside += static_cast<double>(call.bytes.value()) /
                 static_cast<double>(call.chips.size()) /
                 calibration_.local_bandwidth->value();
  }
  overhead.alongside = FromSeconds(alongside);
  return overhead;
}

GroupPlacement Network::Placed(CommunicationKind kind,
                               absl::Span<const VertexId> chips) {
  GroupPlacement placement = PlaceGroup(*graph_, chips);
  if (fabric_reduces_ && kind == CommunicationKind::kAllReduce &&
      placement.island_switches.empty()) {
    const auto [found, is_new] = trees_.try_emplace(placement.chips);
    if (is_new) {
      found->second =
          FindReductionTree(*graph_, router_->stems(), placement.chips,
                            placement.layout.island_size, fabric_sprays_);
    }
    if (found->second) {
      placement.layout.tree_parents = found->second->parents;
      placement.tree_switches = found->second->switches;
    }
  }
  if (kind == CommunicationKind::kPointToPoint ||
      kind == CommunicationKind::kBroadcast ||
      kind == CommunicationKind::kReduce) {
    // The first one is the source, or the root.
    placement.chips.assign(chips.begin(), chips.end());
    placement.layout.island_size = 0;
    placement.layout.grid.clear();
  }
  return placement;
}

// Calls visit(algorithm, protocols, plan, overhead) for all that apply.
template <class Visit>
absl::Status Network::ForEachCandidate(const CollectiveCall& call,
                                       Visit visit) {
  const GroupPlacement placement = Placed(call.kind, call.chips);
  if (options_.algorithm &&
      UseOf(call.kind, *options_.algorithm) == ProtocolUse::kInSwitch &&
      !HasSwitchesFor(*options_.algorithm, placement)) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: there are no switches of this machine that reduce (`reduces` of "
        "the fabric) and join all chips of the group",
        NameOf(*options_.algorithm)));
  }
  bool any = false;
  absl::Status why_not;
  for (CollectiveAlgorithm algorithm : Algorithms(call, placement)) {
    const Kept& kept = Routed(call, algorithm, call.chips, placement);
    if (!kept.why_not.ok()) {
      why_not = kept.why_not;
      if (absl::IsFailedPrecondition(why_not) && !options_.algorithm &&
          kept.schedule.switches == 0) {
        return why_not;  // chips are cut off: no algorithm can help
      }
      continue;
    }
    for (const ProtocolPair& protocols : Protocols(algorithm, *kept.routed)) {
      const CollectivePlan plan(*kept.routed, protocols, call.bytes,
                                *resources_);
      visit(algorithm, protocols, plan, Overhead(call, protocols, plan));
      any = true;
    }
  }
  if (any) return absl::OkStatus();
  if (!why_not.ok()) return why_not;
  return absl::InvalidArgumentError(fmt::format(
      "{} over {} chips: no algorithm and protocol of {} applies{}",
      NameOf(call.kind), call.chips.size(), calibration_.library,
      options_.protocol ? fmt::format(" with protocol '{}'", *options_.protocol)
                        : ""));
}

absl::StatusOr<PlannedCall> Network::Plan(const CollectiveCall& call) {
  if (call.chips.size() < 2) {
    return PlannedCall{CollectiveAlgorithm::kDirect, "", Duration(0),
                       PlanSteps{{TransferStep{}}, {}}};
  }
  struct Choice {
    CollectiveAlgorithm algorithm;
    ProtocolPair protocols;
    CallOverhead overhead;
    Duration solo;
  };
  std::optional<Choice> best;
  RETURN_IF_ERROR(ForEachCandidate(
      call, [&](CollectiveAlgorithm algorithm, const ProtocolPair& protocols,
                const CollectivePlan& plan, const CallOverhead& overhead) {
        const Duration solo = plan.SoloTime(overhead);
        if (best && best->solo <= solo) return;
        best = {algorithm, protocols, overhead, solo};
      }));
  ASSIGN_OR_RETURN(
      PlanSteps steps,
      StepsWithTwins(call, best->algorithm, best->protocols, best->overhead));
  const Kept& kept =
      Routed(call, best->algorithm, call.chips, Placed(call.kind, call.chips));
  return PlannedCall{best->algorithm, ProtocolName(best->protocols), best->solo,
                     std::move(steps), &*kept.routed};
}

absl::StatusOr<PlanSteps> Network::StepsWithTwins(
    const CollectiveCall& call, CollectiveAlgorithm algorithm,
    const ProtocolPair& protocols, const CallOverhead& overhead) {
  const RoutedSchedule& own =
      *Routed(call, algorithm, call.chips, Placed(call.kind, call.chips))
           .routed;
  if (call.twins.empty() || options_.fidelity == Fidelity::kClosedForm) {
    return CollectivePlan(own, protocols, call.bytes, *resources_)
        .Steps(options_.fidelity, overhead);
  }
  if (options_.fidelity == Fidelity::kStepped) {
    return absl::InvalidArgumentError(
        "message by message every group must be simulated; use fidelity FLUID "
        "or --fold=off");
  }
  RoutedSchedule all = own;
  for (const std::vector<VertexId>& twin : call.twins) {
    const Kept& kept = Routed(call, algorithm, twin, Placed(call.kind, twin));
    RETURN_IF_ERROR(kept.why_not);
    all.AddLoadsOf(*kept.routed);
  }
  ASSIGN_OR_RETURN(PlanSteps steps,
                   CollectivePlan(all, protocols, call.bytes, *resources_)
                       .Steps(options_.fidelity, overhead));
  // What passes before bytes flow is each group's own; only bytes meet.
  ASSIGN_OR_RETURN(const PlanSteps alone,
                   CollectivePlan(own, protocols, call.bytes, *resources_)
                       .Steps(options_.fidelity, overhead));
  CHECK_EQ(alone.steps.size(), steps.steps.size());
  for (size_t i = 0; i < alone.steps.size(); ++i) {
    steps.steps[i].latency = alone.steps[i].latency;
  }
  return steps;
}

absl::StatusOr<std::vector<Candidate>> Network::Candidates(
    const CollectiveCall& call) {
  std::vector<Candidate> candidates;
  if (call.chips.size() < 2) return candidates;
  RETURN_IF_ERROR(ForEachCandidate(
      call, [&](CollectiveAlgorithm algorithm, const ProtocolPair& protocols,
                const CollectivePlan& plan, const CallOverhead& overhead) {
        candidates.push_back(
            {algorithm, ProtocolName(protocols), plan.SoloTime(overhead)});
      }));
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.solo < b.solo; });
  return candidates;
}

}  // namespace orrery
