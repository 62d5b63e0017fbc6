#include "sim/network/network_transfers.h"

#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <algorithm>
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

// Of every group the first with the same members, which stands for the same
// others.
IdVector<GroupId, GroupId> FirstAlike(
    const IdVector<GroupId, PlacedGroup>& groups) {
  IdVector<GroupId, GroupId> first;
  absl::flat_hash_map<absl::Span<const int>, std::vector<GroupId>> known;
  for (const GroupId id : groups.ids()) {
    std::vector<GroupId>& same = known[groups[id].members];
    const auto found = std::find_if(same.begin(), same.end(), [&](GroupId g) {
      return groups[g].replicas == groups[id].replicas;
    });
    first.Add(found == same.end() ? id : *found);
    if (found == same.end()) same.push_back(id);
  }
  return first;
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
  // Calls of the same chips that ask for the same have one plan: a channel of
  // every virtual stage is a group, and all of them join the same two.
  const IdVector<GroupId, GroupId> like = FirstAlike(groups);
  std::map<std::tuple<GroupId, CommunicationKind, CallShape, Bytes>, size_t>
      known;
  IdVector<CallId, size_t> plan_of;
  std::vector<CallId> first_call;  // of each plan
  for (CallId id : program.calls().ids()) {
    const Call& call = program.calls()[id];
    const auto [found, is_new] = known.try_emplace(
        {like[call.group], call.what.kind, call.what.shape, call.what.bytes},
        first_call.size());
    if (is_new) first_call.push_back(id);
    plan_of.Add(found->second);
  }
  // Group by group, so that what was routed for one may be forgotten.
  plans.resize(first_call.size());
  names.resize(first_call.size());
  efficiencies.resize(first_call.size());
  for (const auto& [what, place] : known) {
    const Call& call = program.calls()[first_call[place]];
    ASSIGN_OR_RETURN(PlannedCall planned,
                     planner.Plan(CallOf(call, groups[call.group], traffic)));
    efficiencies[place] = planned.efficiency;
    plans[place] = std::move(planned.plan);
    names[place] =
        fmt::format("{} {}", NameOf(planned.algorithm), planned.protocol);
    planner.ForgetIfMany();
  }
  for (const size_t plan : plan_of) transfers.algorithms.Add(names[plan]);
  const Arbitration arbitration = planner.options().arbitration;
  IdVector<ResourceId, std::vector<ResourceId>> merged;
  transfers.capacities =
      MergeResources(network.resources().capacities(), absl::MakeSpan(plans),
                     &merged, arbitration);
  transfers.arbitration = arbitration;
  DescribeResources(network, merged, transfers);
  std::vector<PlanId> ids;
  for (PlanSteps& plan : plans) {
    ids.push_back(AddPlan(plan, transfers.plans));
    plan = {};
  }
  for (const PlanEfficiency& each : efficiencies) {
    transfers.efficiencies.Add(each);
  }
  for (const size_t plan : plan_of) transfers.plan_of_call.Add(ids[plan]);
  return transfers;
}

}  // namespace orrery
