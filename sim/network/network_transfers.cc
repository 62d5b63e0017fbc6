#include "sim/network/network_transfers.h"

#include <absl/types/span.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
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

// The groups that call the same at about the same time, by what they call:
// those of one family, with all that they stand for.
class FamilyPeers {
 public:
  FamilyPeers(const Program& program,
              const IdVector<GroupId, PlacedGroup>& groups) {
    const IdVector<GroupId, GroupId> like = FirstAlike(groups);
    for (const Call& call : program.calls()) {
      if (groups[call.group].members.size() < 2) continue;
      groups_of_[KeyOf(program, call)].insert(like[call.group]);
    }
  }

  const CallPeers* Of(const Program& program, const Call& call,
                      const IdVector<GroupId, PlacedGroup>& groups,
                      CallPlanner& planner) {
    const auto [known, is_new] = known_.try_emplace(KeyOf(program, call));
    if (!is_new) return known->second;
    std::vector<std::vector<VertexId>> members;
    for (const GroupId id : groups_of_[known->first]) {
      for (const std::vector<int>& replica : groups[id].replicas) {
        members.push_back(Chips(replica));
      }
      members.push_back(Chips(groups[id].members));
    }
    return known->second = planner.PeersOf(std::move(members));
  }

 private:
  using Key = std::tuple<NameId, CommunicationKind, CallShape>;
  static Key KeyOf(const Program& program, const Call& call) {
    return {program.groups()[call.group].family, call.what.kind,
            call.what.shape};
  }

  std::map<Key, std::set<GroupId>> groups_of_;
  std::map<Key, const CallPeers*> known_;
};

// To each list of merged resources those that no plan tells, since they are
// like one of them.
void AddAlike(const NetworkResources& resources,
              IdVector<ResourceId, std::vector<ResourceId>>& merged) {
  constexpr auto kNone = static_cast<ResourceId>(-1);
  IdVector<ResourceId, ResourceId> place(resources.capacities().size(), kNone);
  for (const ResourceId left : merged.ids()) {
    for (const ResourceId original : merged[left]) place[original] = left;
  }
  for (const ResourceId id : place.ids()) {
    const ResourceId first = resources.first_alike(id);
    if (first != id && place[first] != kNone) {
      merged[place[first]].push_back(id);
    }
  }
  for (std::vector<ResourceId>& originals : merged) {
    std::sort(originals.begin(), originals.end());
  }
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

// What a plan takes: as it is made, and as it is stored with its like, in lists
// that double when they are full.
Bytes SizeOf(const PlanSteps& plan) {
  constexpr int64_t kStored = 64;
  constexpr double kGrown = 1.5;
  int64_t made = 0;
  int64_t stored = 0;
  for (const TransferStep& step : plan.steps) {
    const auto lists =
        static_cast<int64_t>(step.uses.size() * sizeof(ResourceUse));
    made += static_cast<int64_t>(sizeof(TransferStep)) + lists;
    stored += kStored + lists;
  }
  made += static_cast<int64_t>(plan.orders.size() * sizeof(StepOrder) +
                               plan.messages.size() * sizeof(StepMessage));
  stored += static_cast<int64_t>(plan.orders.size() * sizeof(int32_t));
  return Bytes(made +
               static_cast<int64_t>(kGrown * static_cast<double>(stored)));
}

// What plans are alike in size by.
using SizeClass = std::tuple<CommunicationKind, CallShape, Bytes, size_t>;

// The size of all plans, from one of each size.
class PlanForecast {
 public:
  PlanForecast(const Program& program,
               const IdVector<GroupId, PlacedGroup>& groups)
      : program_(program), groups_(groups) {
    for (const CallId id : program.calls().ids()) class_of_.Add(ClassOf(id));
  }

  // Each distinct call once. Whether it is the first of its size.
  bool Expect(CallId call) { return ++kinds_[class_of_[call]].count == 1; }

  // One of this size has been planned, and the planner keeps `routes` more.
  void Add(CallId call, const PlanSteps& plan, Bytes routes) {
    Kind& kind = kinds_[class_of_[call]];
    size_.plans += kind.count;
    size_.steps += SizeOf(plan) * kind.count;
    size_.routes =
        std::min(size_.routes + routes * kind.count, CallPlanner::kMostKept);
    kind.steps = plan.orders.empty() ? 1 : plan.steps.size();
  }

  // Of all whose size is known.
  TransferSize size() const {
    TransferSize size = size_;
    size_t steps = 0;
    for (const ProgramGroup& group : program_.groups()) {
      size_t most = 0;
      for (int32_t i = 0; i < group.call_count; ++i) {
        const int32_t call = static_cast<int32_t>(group.first_call) + i;
        most =
            std::max(most, kinds_[class_of_[static_cast<CallId>(call)]].steps);
      }
      steps += most;
    }
    constexpr int64_t kBytesPerStep = 200;  // run_result.cc
    size.state = Bytes(kBytesPerStep * static_cast<int64_t>(steps));
    return size;
  }

 private:
  struct Kind {
    int64_t count = 0;  // of plans
    size_t steps = 0;   // that may be under way at once
  };
  size_t ClassOf(CallId id) {
    const Call& call = program_.calls()[id];
    const auto [found, is_new] =
        classes_.try_emplace({call.what.kind, call.what.shape, call.what.bytes,
                              groups_[call.group].members.size()},
                             kinds_.size());
    if (is_new) kinds_.emplace_back();
    return found->second;
  }

  const Program& program_;
  const IdVector<GroupId, PlacedGroup>& groups_;
  std::map<SizeClass, size_t> classes_;
  std::vector<Kind> kinds_;
  IdVector<CallId, size_t> class_of_;
  TransferSize size_;
};

}  // namespace

absl::StatusOr<Transfers> PlanTransfers(const PlacedProgram& placed,
                                        CallPlanner& planner,
                                        const AllowTransfers& allow) {
  return PlanTransfers(placed.program, placed.groups, planner,
                       placed.traffic ? &*placed.traffic : nullptr, allow);
}

absl::StatusOr<Transfers> PlanTransfers(
    const Program& program, const IdVector<GroupId, PlacedGroup>& groups,
    CallPlanner& planner, const ExpertTraffic* traffic,
    const AllowTransfers& allow) {
  const Network& network = planner.network();
  CHECK_EQ(groups.size(), program.groups().size());
  Transfers transfers;
  std::vector<PlanSteps> plans;
  std::vector<std::string> names;  // of each plan
  std::vector<PlanEfficiency> efficiencies;
  std::vector<double> sent;
  // Calls of the same chips that ask for the same have one plan.
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
  // But one of each size first, which tells how much there will be.
  PlanForecast forecast(program, groups);
  std::vector<size_t> order;
  std::vector<size_t> others;
  for (const auto& [what, place] : known) {
    (forecast.Expect(first_call[place]) ? order : others).push_back(place);
  }
  constexpr Bytes kMostMade{int64_t{16} << 20};
  Bytes made{};
  const size_t sizes = order.size();
  order.insert(order.end(), others.begin(), others.end());
  plans.resize(first_call.size());
  names.resize(first_call.size());
  efficiencies.resize(first_call.size());
  sent.resize(first_call.size());
  std::optional<FamilyPeers> peers;
  if (planner.WeighsPeers()) peers.emplace(program, groups);
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t place = order[i];
    const Bytes kept = planner.kept();
    const Call& call = program.calls()[first_call[place]];
    CollectiveCall asked = CallOf(call, groups[call.group], traffic);
    if (peers && asked.chips.size() > 1) {
      asked.peers = peers->Of(program, call, groups, planner);
    }
    ASSIGN_OR_RETURN(PlannedCall planned, planner.Plan(asked));
    efficiencies[place] = planned.efficiency;
    sent[place] = planned.sent_by_chips;
    plans[place] = std::move(planned.plan);
    names[place] =
        fmt::format("{} {}", NameOf(planned.algorithm), planned.protocol);
    if (i < sizes && allow) {
      // Weighing peers may have dropped schedules.
      const Bytes more = std::max(Bytes{}, planner.kept() - kept);
      made += SizeOf(plans[place]) + more;
      forecast.Add(first_call[place], plans[place], more);
      // A no has the numbers of all, unless it takes much to know them.
      const absl::Status allowed = allow(forecast.size());
      if (i + 1 == sizes || made > kMostMade) RETURN_IF_ERROR(allowed);
    }
    planner.ForgetIfMany();
  }
  for (const size_t plan : plan_of) transfers.algorithms.Add(names[plan]);
  IdVector<ResourceId, std::vector<ResourceId>> merged;
  transfers.capacities = MergeResources(network.resources().capacities(),
                                        absl::MakeSpan(plans), &merged);
  if (planner.options().one_of_alike) AddAlike(network.resources(), merged);
  DescribeResources(network, merged, transfers);
  std::vector<PlanId> ids;
  for (PlanSteps& plan : plans) {
    ids.push_back(AddPlan(plan, transfers.plans));
    plan = {};
  }
  for (const PlanEfficiency& each : efficiencies) {
    transfers.efficiencies.Add(each);
  }
  for (const double each : sent) transfers.sent_by_chips.Add(each);
  for (const size_t plan : plan_of) transfers.plan_of_call.Add(ids[plan]);
  return transfers;
}

}  // namespace orrery
