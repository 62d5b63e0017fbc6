#include "sim/analysis/path_bound.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/analysis/path_run.h"
#include "sim/analysis/plan_path.h"
#include "sim/analysis/role_overlap.h"
#include "sim/analysis/worst_sharing.h"

namespace orrery {
namespace {

Duration Alone(const Transfers& transfers, const TransferPlans::Step& step) {
  double rate = step.rate_cap;
  for (const ResourceUse& use : step.uses) {
    rate = std::min(rate, transfers.capacities[use.resource] / use.weight);
  }
  return AddTimes(step.latency,
                  step.work > 0 ? FromSeconds(step.work / rate) : Duration(0));
}

}  // namespace

Duration ShortestTime(const Transfers& transfers, PlanId plan) {
  return LongestChain(transfers, plan, [&](const TransferPlans::Step& step) {
    return Alone(transfers, step);
  });
}

Duration SerialTime(const Transfers& transfers, PlanId plan) {
  Duration sum{};
  for (int32_t i = 0; i < transfers.plans.listed_count(plan); ++i) {
    const TransferPlans::Step step = transfers.plans.listed(plan, i);
    const Duration alone = Alone(transfers, step);
    for (int32_t time = transfers.plans.times(plan, step); time > 0; --time) {
      sum = AddTimes(sum, alone);
    }
  }
  return sum;
}

Duration LongestPath(const Program& program, const Transfers& transfers) {
  TaskTimes times;
  for (const CallId id : program.calls().ids()) {
    times.calls.Add(ShortestTime(transfers, transfers.plan_of_call[id]));
  }
  return PathEnd(program, times);
}

std::optional<Duration> SlowestPath(const Program& program,
                                    const Transfers& transfers,
                                    Duration least) {
  std::optional<IdVector<CallId, Duration>> calls =
      SlowestCalls(program, transfers);
  if (!calls) return std::nullopt;
  IdVector<RoleId, RoleOverlap> overlaps;
  bool stopped = false;
  for (const Role& role : program.roles()) {
    RoleOverlap overlap = OverlapOf(role, program.streams());
    stopped |= overlap.at_worst.empty() && role.task_count() > 0;
    overlaps.Add(std::move(overlap));
  }
  // What is lost is counted in the time of chips that are not slow.
  const bool any_slow =
      std::any_of(program.ranks().begin(), program.ranks().end(),
                  [](const ProgramRank& rank) { return rank.slowness > 1; });
  const auto lost =
      any_slow ? std::nullopt : MostLost(program, overlaps, *calls);
  TaskTimes times = {.calls = *std::move(calls)};
  std::optional<Duration> slowest;
  if (!stopped) {
    for (RoleOverlap& overlap : overlaps) {
      times.slowness.Add(std::move(overlap.at_worst));
    }
    slowest = PathEnd(program, times);
  }
  // With what is lost a path is no shorter than without.
  if (!lost) return slowest;
  const Duration more = *lost;
  if (slowest && *slowest <= least + more) return slowest;
  times.slowness = {};
  for (RoleOverlap& overlap : overlaps) {
    times.slowness.Add(std::move(overlap.spinning));
  }
  const Duration with_lost = PathEnd(program, times) + more;
  return slowest ? std::min(*slowest, with_lost) : with_lost;
}

}  // namespace orrery
