#include "sim/analysis/worst_sharing.h"

#include <absl/types/span.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/analysis/plan_path.h"
#include "sim/engine/chip_sharing.h"

namespace orrery {
namespace {

// Flows on each resource at one time, as the uses of a call that has so many.
using FlowCounts = std::vector<ResourceUse>;

void AddFlows(const TransferPlans::Step& step, FlowCounts& flows) {
  if (step.work <= 0) return;
  for (const ResourceUse& use : step.uses) {
    flows.push_back({use.resource, use.weight / step.penalty});
  }
}

// The flows of all steps of a plan together, in the order of resources.
FlowCounts AllFlows(const TransferPlans& plans, PlanId plan) {
  FlowCounts flows;
  for (int32_t i = 0; i < plans.listed_count(plan); ++i) {
    AddFlows(plans.listed(plan, i), flows);
  }
  std::sort(flows.begin(), flows.end(),
            [](const ResourceUse& a, const ResourceUse& b) {
              return a.resource < b.resource;
            });
  size_t kept = 0;
  for (const ResourceUse& use : flows) {
    if (kept > 0 && flows[kept - 1].resource == use.resource) {
      flows[kept - 1] += use;
    } else {
      flows[kept++] = use;
    }
  }
  flows.resize(kept);
  return flows;
}

class SlowestTimes {
 public:
  SlowestTimes(const Program& program, const Transfers& transfers)
      : program_(program),
        transfers_(transfers),
        all_(transfers.capacities.size(), 0),
        here_(transfers.capacities.size(), 0),
        own_(transfers.capacities.size(), 0),
        times_(program.calls().size(), Duration(0)),
        // So that no path leaves the range of time.
        longest_(kMaxSeconds / static_cast<double>(program.task_count() + 1)) {
    for (const GroupId id : program.groups().ids()) {
      const GroupMember& first = program.members(id).front();
      groups_.push_back({{first.rank, first.stream}, id});
    }
    std::sort(groups_.begin(), groups_.end());
  }

  std::optional<IdVector<CallId, Duration>> Find() {
    ForEachStream([&](absl::Span<const CallId>) {
      for (const ResourceId id : touched_) all_[id] += here_[id];
    });
    ForEachStream([&](absl::Span<const CallId> calls) {
      for (const CallId call : calls) Time(call);
    });
    if (!in_range_) return std::nullopt;
    return std::move(times_);
  }

 private:
  // Calls visit(calls) for each stream of a rank that leads groups, when
  // `here_` holds the most that any of their calls has on each of `touched_`.
  template <class Visit>
  void ForEachStream(Visit visit) {
    std::vector<CallId> calls;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const ProgramGroup& group = program_.groups()[groups_[i].second];
      for (int32_t c = 0; c < group.call_count; ++c) {
        calls.push_back(
            static_cast<CallId>(static_cast<int32_t>(group.first_call) + c));
        Note(transfers_.plan_of_call[calls.back()]);
      }
      if (i + 1 < groups_.size() && groups_[i + 1].first == groups_[i].first) {
        continue;
      }
      visit(absl::MakeConstSpan(calls));
      for (const ResourceId id : touched_) here_[id] = 0;
      touched_.clear();
      calls.clear();
    }
  }

  // Of a chain one step is under way at a time, otherwise all of them may be.
  void Note(PlanId plan) {
    const TransferPlans& plans = transfers_.plans;
    FlowCounts flows;
    if (plans.is_chain(plan)) {
      for (int32_t i = 0; i < plans.listed_count(plan); ++i) {
        AddFlows(plans.listed(plan, i), flows);
      }
    } else {
      flows = AllFlows(plans, plan);
    }
    for (const ResourceUse& use : flows) {
      if (here_[use.resource] == 0) touched_.push_back(use.resource);
      here_[use.resource] = std::max(here_[use.resource], use.weight);
    }
  }

  void Time(CallId call) {
    const PlanId plan = transfers_.plan_of_call[call];
    const bool is_chain = transfers_.plans.is_chain(plan);
    if (!is_chain) {
      for (const ResourceUse& use : AllFlows(transfers_.plans, plan)) {
        own_[use.resource] = use.weight;
      }
    }
    times_[call] =
        LongestChain(transfers_, plan, [&](const TransferPlans::Step& step) {
          double rate = step.rate_cap;
          for (const ResourceUse& use : step.uses) {
            // Of its own stream nothing but this call.
            const double mine =
                is_chain ? use.weight / step.penalty : own_[use.resource];
            const double flows =
                all_[use.resource] - here_[use.resource] + mine;
            rate = std::min(rate, transfers_.capacities[use.resource] /
                                      (step.penalty * flows));
          }
          const double seconds = step.work > 0 ? step.work / rate : 0;
          if (seconds < longest_) return step.latency + FromSeconds(seconds);
          in_range_ = false;
          return Duration(0);
        });
  }

  const Program& program_;
  const Transfers& transfers_;
  std::vector<std::pair<std::pair<RankId, StreamId>, GroupId>> groups_;
  IdVector<ResourceId, double> all_;   // of all streams
  IdVector<ResourceId, double> here_;  // of one
  // Of one plan that is no chain; of other resources anything.
  IdVector<ResourceId, double> own_;
  std::vector<ResourceId> touched_;
  IdVector<CallId, Duration> times_;
  double longest_;
  bool in_range_ = true;
};

}  // namespace

std::optional<IdVector<CallId, Duration>> SlowestCalls(
    const Program& program, const Transfers& transfers) {
  return SlowestTimes(program, transfers).Find();
}

double SpinningSlowness(const Role& role) {
  std::map<StreamId, double> shares;
  for (const RoleSlot& slot : role.slots()) {
    if (slot.side != RoleSlot::Side::kMember) continue;
    for (const Communication& call : slot.calls) {
      double& share = shares[slot.stream];
      share = std::max(share, call.share.compute);
    }
  }
  double sum = 0;
  for (const auto& [stream, share] : shares) sum += share;
  return 1 / (1 - std::min(sum, kMostSpinning));
}

namespace {

// A call of a role, and what it holds of the chip beside kernels, as often as
// it does.
struct HeldCall {
  const Task* task;
  double share;
};

std::vector<HeldCall> CallsBesideKernels(const Role& role,
                                         const RoleOverlap& overlap) {
  const FewTurns few(role);
  std::vector<HeldCall> held;
  for (const RoleSlot& slot : role.slots()) {
    // By call, so that it does not matter how they are written down.
    std::vector<int64_t> times(slot.calls.size(), 0);
    for (const TaskId task : slot.sequence) {
      const PlaceId place = role.place_of(task);
      int64_t& of_call = times[static_cast<size_t>(role.at(place).payload)];
      few.ForEachTurn(slot.stream, place, [&](TaskId turn, int32_t count) {
        if (overlap.beside_kernels[Index(turn)]) of_call += count;
      });
    }
    for (const TaskId task : slot.sequence) {
      const Task& call = role.task(task);
      const int64_t all =
          std::exchange(times[static_cast<size_t>(call.payload)], 0);
      if (all == 0) continue;
      const ChipShare& share = role.communication(call).share;
      held.push_back({&call, static_cast<double>(all) *
                                 std::max(share.compute, share.memory)});
    }
  }
  return held;
}

}  // namespace

std::optional<Duration> MostLost(const Program& program,
                                 const IdVector<RoleId, RoleOverlap>& overlaps,
                                 const IdVector<CallId, Duration>& calls) {
  for (const RoleOverlap& overlap : overlaps) {
    if (overlap.kernels_share) return std::nullopt;
  }
  // Ranks of a role differ in how long their calls take, and in nothing else.
  IdVector<RoleId, std::vector<HeldCall>> held;
  for (const RoleId role : program.roles().ids()) {
    held.Add(CallsBesideKernels(program.roles()[role], overlaps[role]));
  }
  double lost = 0;
  for (const RankId rank : program.ranks().ids()) {
    const RoleId role = program.ranks()[rank].role;
    double here = 0;
    for (const HeldCall& call : held[role]) {
      here += call.share * ToSeconds(calls[program.call_of(rank, *call.task)]);
    }
    lost += here * overlaps[role].most_spinning;
  }
  if (lost >= kMaxSeconds / 2) return std::nullopt;
  return FromSeconds(lost);
}

}  // namespace orrery
