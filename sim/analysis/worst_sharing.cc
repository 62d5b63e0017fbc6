#include "sim/analysis/worst_sharing.h"

#include <absl/types/span.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sim/engine/chip_sharing.h"

namespace orrery {
namespace {

// What a plan can have on resources at one time: of a chain one step, otherwise
// all of them, of a loop one time.
void AddAtOnce(const TransferPlans& plans, PlanId plan,
               std::vector<ResourceUse>& uses) {
  const size_t begin = uses.size();
  for (int32_t i = 0; i < plans.listed_count(plan); ++i) {
    const absl::Span<const ResourceUse> step = plans.listed(plan, i).uses;
    uses.insert(uses.end(), step.begin(), step.end());
  }
  if (plans.is_chain(plan)) return;
  const auto first = uses.begin() + static_cast<std::ptrdiff_t>(begin);
  std::sort(first, uses.end(), [](const ResourceUse& a, const ResourceUse& b) {
    return a.resource < b.resource;
  });
  size_t kept = begin;
  for (size_t i = begin; i < uses.size(); ++i) {
    if (kept > begin && uses[kept - 1].resource == uses[i].resource) {
      uses[kept - 1] += uses[i];
    } else {
      uses[kept++] = uses[i];
    }
  }
  uses.resize(kept);
}

bool HasKernels(const Role& role, StreamId stream) {
  for (TaskId t = role.stream_begin(stream); t != role.stream_end(stream);
       t = static_cast<TaskId>(static_cast<int32_t>(t) + 1)) {
    if (role.task(t).kind == TaskKind::kKernel) return true;
  }
  return false;
}

}  // namespace

IdVector<ResourceId, double> MostAtOnce(const Program& program,
                                        const Transfers& transfers) {
  std::vector<std::pair<std::pair<RankId, StreamId>, GroupId>> groups;
  for (const GroupId id : program.groups().ids()) {
    const GroupMember& first = program.members(id).front();
    groups.push_back({{first.rank, first.stream}, id});
  }
  std::sort(groups.begin(), groups.end());
  IdVector<ResourceId, double> most(transfers.capacities.size(), 0);
  IdVector<ResourceId, double> here(transfers.capacities.size(), 0);
  std::vector<ResourceUse> uses;
  for (size_t i = 0; i < groups.size(); ++i) {
    const ProgramGroup& group = program.groups()[groups[i].second];
    for (int32_t c = 0; c < group.call_count; ++c) {
      const auto call =
          static_cast<CallId>(static_cast<int32_t>(group.first_call) + c);
      AddAtOnce(transfers.plans, transfers.plan_of_call[call], uses);
    }
    if (i + 1 < groups.size() && groups[i + 1].first == groups[i].first) {
      continue;
    }
    for (const ResourceUse& use : uses) {
      here[use.resource] = std::max(here[use.resource], use.weight);
    }
    for (const ResourceUse& use : uses) {
      most[use.resource] += std::exchange(here[use.resource], 0);
    }
    uses.clear();
  }
  return most;
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

std::optional<double> MostSlowness(const Role& role, size_t streams) {
  double compute = 1;
  double memory = 1;
  int with_kernels = 0;
  for (size_t s = 0; s < streams; ++s) {
    ChipShare most;
    bool has_kernels = false;
    for (TaskId t = role.stream_begin(static_cast<StreamId>(s));
         t != role.stream_end(static_cast<StreamId>(s));
         t = static_cast<TaskId>(static_cast<int32_t>(t) + 1)) {
      const Task& task = role.task(t);
      has_kernels |= task.kind == TaskKind::kKernel;
      if (!IsCommunication(task.kind)) continue;
      const ChipShare& share = role.communication(task).share;
      most.compute = std::max(most.compute, share.compute);
      most.memory = std::max(most.memory, share.memory);
    }
    compute -= most.compute;
    memory -= most.memory;
    with_kernels += has_kernels ? 1 : 0;
  }
  const double left = std::min(compute, memory);
  // What doubles leave of nothing.
  constexpr double kNothing = 1e-6;
  if (left < kNothing) return std::nullopt;
  return std::max(1.0, with_kernels / left);
}

std::optional<Duration> MostLost(const Program& program,
                                 const IdVector<CallId, Duration>& calls) {
  double slowness = 1;
  for (const Role& role : program.roles()) {
    slowness = std::max(slowness, SpinningSlowness(role));
    int with_kernels = 0;
    for (const StreamId stream : program.streams().ids()) {
      with_kernels += HasKernels(role, stream) ? 1 : 0;
    }
    if (with_kernels > 1) return std::nullopt;
  }
  double lost = 0;
  for (const RankId rank : program.ranks().ids()) {
    const Role& role = program.role_of(rank);
    for (const RoleSlot& slot : role.slots()) {
      for (const TaskId task : slot.sequence) {
        const ChipShare& share = role.communication(role.task(task)).share;
        lost += std::max(share.compute, share.memory) *
                ToSeconds(calls[program.call_of(rank, role.task(task))]);
      }
    }
  }
  if (lost * slowness >= kMaxSeconds / 2) return std::nullopt;
  return FromSeconds(lost * slowness);
}

}  // namespace orrery
