#include "sim/network/call_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "sim/network/adaptive_choice.h"
#include "sim/network/folded_steps.h"

namespace orrery {
namespace {

// Segments cost nothing to simulate (stepped_plan.h), and what filling a
// pipeline costs is the protocol's fill latency.
constexpr int32_t kSegments = 1024;

// What a call takes at the least.
Duration Waits(const RoutedSchedule& routed, const ProtocolPair& protocols,
               const CallOverhead& overhead) {
  Duration waits = AddTimes(overhead.base, overhead.alongside);
  for (const Duration latency : routed.Latencies(protocols)) {
    waits = AddTimes(waits, latency);
  }
  return waits;
}

// Islands that hold members of a group.
int NodesOf(const Graph& graph, const GroupPlacement& placement) {
  int nodes = 1;
  for (size_t i = 1; i < placement.chips.size(); ++i) {
    const auto here = graph.island(placement.chips[i]);
    nodes += !here || here != graph.island(placement.chips[i - 1]);
  }
  return nodes;
}

}  // namespace

CallPlanner::CallPlanner(const Network& network, PlannerOptions options)
    : network_(network),
      options_(std::move(options)),
      router_(std::make_unique<Router>(network.graph(), network.routing())),
      placer_(network, *router_),
      schedules_(
          network.resources(), *router_,
          {options_.segments.value_or(kSegments),
           options_.fidelity == Fidelity::kStepped, options_.one_of_alike}) {}

absl::StatusOr<std::vector<CollectiveAlgorithm>> CallPlanner::Algorithms(
    const CollectiveCall& call, const GroupPlacement& placement) {
  // In-network reduction only where the hardware has it.
  const auto lacks_switches = [&](CollectiveAlgorithm algorithm) {
    return ReducesInNetwork(algorithm) &&
           !network_.switches().Join(placement, algorithm);
  };
  if (options_.algorithm && lacks_switches(*options_.algorithm)) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: there are no switches of this machine that reduce (`reduces` of "
        "the fabric) and join all chips of the group",
        NameOf(*options_.algorithm)));
  }
  if (MovesTokens(call.shape)) {
    return std::vector{call.traffic->by_island
                           ? CollectiveAlgorithm::kHierarchical
                           : CollectiveAlgorithm::kDirect};
  }
  if (options_.algorithm) return std::vector{*options_.algorithm};
  if (!last_layout_ || last_layout_->kind != call.kind ||
      !(last_layout_->layout == placement.layout)) {
    last_layout_ = {
        call.kind, placement.layout,
        Applicable(call.kind, placement.layout, [&](CollectiveAlgorithm each) {
          return schedules_.detail(call.kind, each);
        })};
  }
  std::vector<CollectiveAlgorithm> applicable = last_layout_->applicable;
  std::erase_if(applicable, lacks_switches);
  std::vector<CollectiveAlgorithm> offered = network_.library().Offered(
      call.kind, applicable, !placement.tree_switches.empty());
  // Rounds one after the other take at least as long on the wire, each at its
  // own busiest link, and wait for a latency each: all at once is never slower.
  if (std::find(offered.begin(), offered.end(), CollectiveAlgorithm::kDirect) !=
      offered.end()) {
    std::erase(offered, CollectiveAlgorithm::kPairwise);
  }
  return offered;
}

absl::Status CallPlanner::Consider(const CollectiveCall& call,
                                   const Shares& shares,
                                   std::optional<Choice>& best,
                                   absl::Status& why_not) {
  const CollectiveLibrary& library = network_.library();
  const GroupPlacement placement = placer_.Place(call.kind, call.chips);
  ASSIGN_OR_RETURN(const std::vector<CollectiveAlgorithm> algorithms,
                   Algorithms(call, placement));
  struct Candidate {
    size_t place;  // of equals, the first is taken
    CollectiveAlgorithm algorithm;
    ScheduleCache::Entry* entry;
    ProtocolPair protocols;
    Duration waits;
  };
  std::vector<Candidate> candidates;
  const int nodes = NodesOf(network_.graph(), placement);
  for (CollectiveAlgorithm algorithm : algorithms) {
    ScheduleCache::Entry& entry =
        schedules_.Find(call, algorithm, call.chips, placement, shares);
    if (!entry.status.ok()) {
      why_not = entry.status;
      if (absl::IsFailedPrecondition(why_not) && !options_.algorithm &&
          entry.schedule->switches == 0) {
        return why_not;  // chips are cut off: no algorithm can help
      }
      continue;
    }
    const RoutedSchedule& routed = *entry.routed;
    for (const ProtocolPair& protocols : library.Protocols(
             {routed.schedule().kind, algorithm, routed.touches(Tier::kScaleUp),
              routed.touches(Tier::kScaleOut), nodes,
              MovesTokens(call.shape) && call.traffic->by_island},
             options_.protocol)) {
      // No bytes, no wire.
      const CallOverhead least = library.Overhead(
          call.kind, call.bytes, call.chips.size(), protocols, /*wire=*/0);
      candidates.push_back({candidates.size() + 1, algorithm, &entry, protocols,
                            Waits(routed, protocols, least)});
    }
  }
  // Small calls are told apart by their latencies: those that wait least come
  // first, and of most others what they put on links need not be known.
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.waits < b.waits; });
  size_t place = 0;  // of the best, unless it was there before
  const auto is_beaten = [&](Duration least, const Candidate& other) {
    return best &&
           (best->solo < least || (best->solo == least && place < other.place));
  };
  for (const Candidate& each : candidates) {
    if (is_beaten(each.waits, each)) continue;
    schedules_.LoadsOf(*each.entry);
    CollectivePlan plan(*each.entry->routed, each.protocols, call.bytes,
                        network_.resources());
    const CallOverhead overhead =
        library.Overhead(call.kind, call.bytes, call.chips.size(),
                         each.protocols, plan.WireTime());
    const Duration solo = plan.SoloTime(overhead);
    if (is_beaten(solo, each)) continue;
    best.emplace(Choice{call.kind, each.algorithm, shares, each.protocols,
                        overhead, solo, std::move(plan)});
    place = each.place;
  }
  return absl::OkStatus();
}

absl::StatusOr<CallPlanner::Choice> CallPlanner::Cheapest(
    const CollectiveCall& call, const Shares& shares) {
  std::optional<Choice> best;
  absl::Status why_not;
  RETURN_IF_ERROR(Consider(call, shares, best, why_not));
  const bool rooted = call.kind == CommunicationKind::kBroadcast ||
                      call.kind == CommunicationKind::kReduce;
  if (rooted && !options_.algorithm) {
    // Everybody adds up, with nothing from all but the root, or for nobody but
    // the root.
    CollectiveCall all = call;
    all.kind = CommunicationKind::kAllReduce;
    RETURN_IF_ERROR(Consider(all, shares, best, why_not));
  }
  if (best) return *std::move(best);
  if (!why_not.ok()) return why_not;
  return absl::InvalidArgumentError(fmt::format(
      "{} over {} chips: no algorithm and protocol of {} applies{}",
      NameOf(call.kind), call.chips.size(), network_.library().name(),
      options_.protocol ? fmt::format(" with protocol '{}'", *options_.protocol)
                        : ""));
}

const CallPeers* CallPlanner::PeersOf(
    std::vector<std::vector<VertexId>> groups) {
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  const auto number = static_cast<int32_t>(peers_.size());
  CallPeers& peers = peers_.try_emplace(groups).first->second;
  if (peers.groups.empty()) peers = {number, std::move(groups)};
  return &peers;
}

absl::StatusOr<CallPlanner::Shares> CallPlanner::SharesOf(
    const CollectiveCall& call) {
  if (call.peers == nullptr) return Shares();
  const std::tuple key(call.kind, call.shape, call.bytes.value(),
                       call.peers->number);
  if (const auto known = shares_.find(key); known != shares_.end()) {
    return known->second;
  }
  const auto peers =
      [&](const AdaptiveShares& shares,
          absl::FunctionRef<void(const PeerCall&)> visit) -> absl::Status {
    CollectiveCall peer = call;
    for (const std::vector<VertexId>& chips : call.peers->groups) {
      peer.chips = chips;
      ASSIGN_OR_RETURN(const Choice choice, Cheapest(peer, shares));
      visit({choice.solo, choice.plan});
      ForgetIfMany();
    }
    return absl::OkStatus();
  };
  const bool islands = network_.graph().island(call.chips[0]).has_value();
  ASSIGN_OR_RETURN(const AdaptiveShares shares,
                   ChooseShares(peers, network_.resources(), islands));
  shares_.emplace(key, shares);
  return shares;
}

absl::StatusOr<PlanSteps> CallPlanner::StepsOf(const CollectiveCall& call,
                                               const Choice& choice) {
  if (call.replicas.empty() || options_.fidelity == Fidelity::kClosedForm) {
    return choice.plan.Steps(options_.fidelity, choice.overhead);
  }
  if (options_.fidelity == Fidelity::kStepped) {
    return absl::InvalidArgumentError(
        "message by message every group must be simulated; use fidelity FLUID "
        "or --fold=off");
  }
  CollectiveCall run = call;
  run.kind = choice.kind;
  std::vector<const PhaseLoads*> replicas;
  for (const std::vector<VertexId>& replica : call.replicas) {
    ScheduleCache::Entry& entry =
        schedules_.Find(run, choice.algorithm, replica,
                        placer_.Place(run.kind, replica), choice.shares);
    RETURN_IF_ERROR(entry.status);
    replicas.push_back(&schedules_.LoadsOf(entry));
  }
  return FoldedSteps(choice.plan, replicas, choice.overhead);
}

absl::StatusOr<PlannedCall> CallPlanner::Plan(const CollectiveCall& call) {
  if (call.chips.size() < 2) {
    return PlannedCall{CollectiveAlgorithm::kDirect, "", Duration(0),
                       PlanSteps{{TransferStep{}}, {}}};
  }
  ASSIGN_OR_RETURN(const Shares shares, SharesOf(call));
  ASSIGN_OR_RETURN(const Choice best, Cheapest(call, shares));
  ASSIGN_OR_RETURN(PlanSteps steps, StepsOf(call, best));
  PlannedCall planned{best.algorithm, best.protocols.name(), best.solo,
                      std::move(steps), &best.plan.routed()};
  if (best.protocols.scale_up != nullptr) {
    planned.efficiency.scale_up = best.protocols.Efficiency(Tier::kScaleUp);
  }
  if (best.protocols.scale_out != nullptr) {
    planned.efficiency.scale_out = best.protocols.Efficiency(Tier::kScaleOut);
  }
  planned.sent_by_chips = best.plan.BytesSentByChips();
  return planned;
}

}  // namespace orrery
