#include "sim/analysis/step_bounds.h"

#include <algorithm>
#include <vector>

#include "sim/analysis/path_bound.h"

namespace orrery {
namespace {

// A byte of rounding in a sum of many, or a picosecond at each change of a
// rate, must not make a bound fail.
constexpr double kRounding = 1 - 1e-9;

}  // namespace

StepBounds BoundsOf(const PlacedProgram& placed, const Transfers& transfers,
                    const RunResult& result, Duration critical_path) {
  StepBounds bounds;
  const Program& program = placed.program;
  bounds.critical_path = FromSeconds(ToSeconds(critical_path) * kRounding);
  for (const RoleWork& work : placed.work) {
    bounds.busiest = std::max(bounds.busiest, work.total());
  }
  for (const ResourceId id : result.carried.ids()) {
    const double seconds = result.carried[id] / transfers.capacities[id];
    bounds.busiest = std::max(bounds.busiest, FromSeconds(seconds * kRounding));
  }
  // Everything one after the other: the kernels of every role, which its ranks
  // run at the same time, and every call of every group, which may share a link
  // with any other.
  for (const RoleWork& work : placed.work) {
    bounds.upper += work.total() + work.host;
  }
  IdVector<CallId, Duration> solo;
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
        bounds.upper += solo[program.call_of(id, role.task(task))];
      }
    }
  }
  return bounds;
}

}  // namespace orrery
