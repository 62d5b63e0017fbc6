#include "sim/network/network_transfers.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/format.h"
#include "base/status.h"
#include "sim/network/merge_resources.h"
#include "topology/graph/link_tiers.h"
#include "workload/model/layer.h"

namespace orrery {
namespace {

std::vector<VertexId> Chips(const std::vector<int>& ranks) {
  std::vector<VertexId> chips;
  chips.reserve(ranks.size());
  for (int rank : ranks) chips.push_back(static_cast<VertexId>(rank));
  return chips;
}

CollectiveCall CallOf(const Call& call, const PlacedGroup& group,
                      const ExpertTraffic* traffic) {
  CollectiveCall result = {call.what.kind, call.what.bytes,
                           Chips(group.members)};
  if (call.what.kind == CommunicationKind::kPointToPoint) {
    result.around = call.what.variant == kAroundTheRing;
  }
  const auto route = static_cast<TokenRoute>(call.what.variant);
  if (call.what.kind == CommunicationKind::kAllToAll &&
      route != TokenRoute::kEven) {
    CHECK(traffic != nullptr) << "a routed call without traffic";
    result.traffic = traffic;
    result.combine = route == TokenRoute::kCombine;
  }
  for (size_t i = 1; i < group.replicas.size(); ++i) {
    result.twins.push_back(Chips(group.replicas[i]));
  }
  return result;
}

// For people; only of what is left, since a machine has links by the thousand.
void DescribeResources(
    const Network& network,
    const IdVector<ResourceId, std::vector<ResourceId>>& kept,
    Transfers& transfers) {
  const Graph& graph = network.graph();
  const LinkTiers tiers(graph);
  const IdVector<ResourceId, LinkId> first =
      FirstLinks(graph, network.resources());
  for (const std::vector<ResourceId>& originals : kept) {
    transfers.resource_names.Add(LinkName(graph, first[originals.front()]));
    std::map<LinkTier, int64_t> counts;
    for (const ResourceId original : originals) {
      ++counts[tiers.of(first[original])];
    }
    std::vector<ResourceClass> named;
    for (const auto& [tier, count] : counts) {
      named.push_back(
          {tiers.Name(tier), count, tier.low.kind == VertexKind::kSwitch});
    }
    transfers.resource_classes.Add(std::move(named));
  }
}

}  // namespace

absl::StatusOr<Transfers> PlanTransfers(const LoweredStep& step,
                                        Network& network) {
  return PlanTransfers(step.program, step.groups, network,
                       step.traffic ? &*step.traffic : nullptr);
}

absl::StatusOr<Transfers> PlanTransfers(
    const Program& program, const IdVector<GroupId, PlacedGroup>& groups,
    Network& network, const ExpertTraffic* traffic) {
  CHECK_EQ(groups.size(), program.groups().size());
  Transfers transfers;
  std::vector<PlanSteps> plans;
  plans.reserve(program.calls().size());
  for (CallId id : program.calls().ids()) {
    const Call& call = program.calls()[id];
    ASSIGN_OR_RETURN(PlannedCall planned,
                     network.Plan(CallOf(call, groups[call.group], traffic)));
    plans.push_back(std::move(planned.plan));
    transfers.algorithms.Add(
        fmt::format("{} {}", NameOf(planned.algorithm), planned.protocol));
  }
  IdVector<ResourceId, std::vector<ResourceId>> kept;
  transfers.capacities =
      MergeResources(network.resources().capacities(), absl::MakeSpan(plans),
                     &kept, network.options().arbitration);
  transfers.arbitration = network.options().arbitration;
  DescribeResources(network, kept, transfers);
  for (const PlanSteps& plan : plans) {
    transfers.plan_of_call.Add(
        plan.orders.empty()
            ? transfers.plans.AddChain(plan.steps)
            : transfers.plans.AddGraph(plan.steps, plan.orders));
  }
  return transfers;
}

}  // namespace orrery
