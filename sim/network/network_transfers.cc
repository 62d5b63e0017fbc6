#include "sim/network/network_transfers.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/format.h"
#include "base/status.h"
#include "sim/network/merge_resources.h"
#include "sim/network/resource_places.h"
#include "topology/graph/link_tiers.h"

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
  CollectiveCall result = {.kind = call.what.kind,
                           .bytes = call.what.bytes,
                           .chips = Chips(group.members),
                           .shape = call.what.shape};
  if (MovesTokens(call.what.shape)) {
    CHECK(traffic != nullptr) << "tokens move, but nobody says where";
    result.traffic = traffic;
  }
  // The first one is the group itself.
  for (size_t i = 1; i < group.replicas.size(); ++i) {
    result.replicas.push_back(Chips(group.replicas[i]));
  }
  return result;
}

// For people; only of what is left, since a machine has links by the thousand.
void DescribeResources(
    const Network& network,
    const IdVector<ResourceId, std::vector<ResourceId>>& merged,
    Transfers& transfers) {
  const Graph& graph = network.graph();
  const LinkTiers tiers(graph);
  const IdVector<ResourceId, LinkId> first =
      FirstLinks(graph, network.resources());
  const ResourcePlaces places(graph, tiers);
  for (const std::vector<ResourceId>& originals : merged) {
    transfers.resource_places.Add(places.of(first[originals.front()]));
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

absl::StatusOr<Transfers> PlanTransfers(const PlacedProgram& placed,
                                        CallPlanner& planner) {
  return PlanTransfers(placed.program, placed.groups, planner,
                       placed.traffic ? &*placed.traffic : nullptr);
}

absl::StatusOr<Transfers> PlanTransfers(
    const Program& program, const IdVector<GroupId, PlacedGroup>& groups,
    CallPlanner& planner, const ExpertTraffic* traffic) {
  const Network& network = planner.network();
  CHECK_EQ(groups.size(), program.groups().size());
  Transfers transfers;
  std::vector<PlanSteps> plans;
  std::vector<std::string> names;  // of each plan
  std::vector<PlanEfficiency> efficiencies;
  // Calls of one group that ask for the same have one plan.
  std::map<std::tuple<GroupId, CommunicationKind, CallShape, Bytes>, size_t>
      known;
  IdVector<CallId, size_t> plan_of;
  for (CallId id : program.calls().ids()) {
    const Call& call = program.calls()[id];
    const auto [found, is_new] = known.try_emplace(
        {call.group, call.what.kind, call.what.shape, call.what.bytes},
        plans.size());
    if (is_new) {
      ASSIGN_OR_RETURN(PlannedCall planned,
                       planner.Plan(CallOf(call, groups[call.group], traffic)));
      efficiencies.push_back(planned.efficiency);
      plans.push_back(std::move(planned.plan));
      names.push_back(
          fmt::format("{} {}", NameOf(planned.algorithm), planned.protocol));
    }
    plan_of.Add(found->second);
    transfers.algorithms.Add(names[found->second]);
  }
  const Arbitration arbitration = planner.options().arbitration;
  IdVector<ResourceId, std::vector<ResourceId>> merged;
  transfers.capacities =
      MergeResources(network.resources().capacities(), absl::MakeSpan(plans),
                     &merged, arbitration);
  transfers.arbitration = arbitration;
  DescribeResources(network, merged, transfers);
  std::vector<PlanId> ids;
  for (const PlanSteps& plan : plans) {
    ids.push_back(plan.orders.empty()
                      ? transfers.plans.AddChain(plan.steps)
                      : transfers.plans.AddGraph(plan.steps, plan.orders));
  }
  for (const PlanEfficiency& each : efficiencies) {
    transfers.efficiencies.Add(each);
  }
  for (const size_t plan : plan_of) transfers.plan_of_call.Add(ids[plan]);
  return transfers;
}

}  // namespace orrery
