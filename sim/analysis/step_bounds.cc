#include "sim/analysis/step_bounds.h"

#include <algorithm>
#include <vector>

#include "sim/analysis/path_bound.h"
#include "sim/analysis/worst_sharing.h"

namespace orrery {
namespace {

// A byte of rounding in a sum of many, or a picosecond at each change of a
// rate, must not make a bound fail. Rates change when tasks start or end.
constexpr double kRounding = 1e-9;

Duration Times(Duration one, int64_t times) {
  const double seconds = ToSeconds(one) * static_cast<double>(times);
  return seconds < kMaxSeconds ? one * times : kBeyondTime;
}

}  // namespace

StepBounds BoundsOf(const PlacedProgram& placed, const Transfers& transfers,
                    const PathBounds& paths) {
  StepBounds bounds;
  const Program& program = placed.program;
  bounds.critical_path =
      FromSeconds(ToSeconds(paths.longest) * (1 - kRounding));
  IdVector<RoleId, double> slowness(placed.work.size(), 1);
  for (const ProgramRank& rank : program.ranks()) {
    slowness[rank.role] = std::max(slowness[rank.role], rank.slowness);
  }
  // Everything one after the other: the kernels of every role, which its ranks
  // run at the same time, beside collectives that wait; and every call of every
  // group, which may share a link with any other.
  for (const RoleId id : placed.work.ids()) {
    const RoleWork& work = placed.work[id];
    bounds.busiest = std::max(bounds.busiest, work.total());
    bounds.upper = AddTimes(bounds.upper,
                            FromSeconds(ToSeconds(work.total()) * slowness[id] *
                                        SpinningSlowness(program.roles()[id])));
    bounds.upper = AddTimes(bounds.upper, work.passes.host + work.host);
  }
  IdVector<CallId, Duration> solo;
  IdVector<CallId, int64_t> times(program.calls().size(), 0);
  for (const CallId id : program.calls().ids()) {
    solo.Add(SerialTime(transfers, transfers.plan_of_call[id]));
  }
  std::vector<bool> counted(program.groups().size());
  for (const RankId id : program.ranks().ids()) {
    const Role& role = program.role_of(id);
    for (const SlotId slot : role.slots().ids()) {
      const size_t group = Index(program.group_of(id, slot));
      if (counted[group]) continue;
      counted[group] = true;
      for (const TaskId task : role.slots()[slot].sequence) {
        const PlaceId place = role.place_of(task);
        times[program.call_of(id, role.at(place))] += role.times(place);
      }
    }
  }
  for (const CallId id : program.calls().ids()) {
    bounds.upper = AddTimes(bounds.upper, Times(solo[id], times[id]));
  }
  const auto rounded = [&](Duration time) {
    return AddTimes(FromSeconds(ToSeconds(time) * (1 + kRounding)),
                    Duration(program.task_count()));
  };
  // A host that waits for every kernel does run them one after the other.
  bounds.upper = rounded(bounds.upper);
  if (paths.slowest) {
    bounds.upper = std::min(bounds.upper, rounded(*paths.slowest));
  }
  IdVector<ResourceId, double> load(transfers.capacities.size(), 0);
  for (const CallId id : program.calls().ids()) {
    for (const ResourceUse& use :
         transfers.plans.TotalLoad(transfers.plan_of_call[id])) {
      load[use.resource] += use.weight * static_cast<double>(times[id]);
    }
  }
  for (const ResourceId id : load.ids()) {
    const double seconds = load[id] / transfers.capacities[id];
    bounds.busiest =
        std::max(bounds.busiest, FromSeconds(seconds * (1 - kRounding)));
  }
  return bounds;
}

}  // namespace orrery
