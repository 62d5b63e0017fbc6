#include "sim/step_bounds.h"

#include <algorithm>
#include <vector>

#include "sim/path_bound.h"

namespace orrery {
namespace {

// A byte of rounding in a sum of many, or a picosecond at each change of a
// rate, must not make a bound fail.
constexpr double kRounding = 1 - 1e-9;

}  // namespace

StepBounds BoundsOf(const LoweredStep& step, const Transfers& transfers,
                    const RunResult& result, Duration critical_path,
                    bool alike) {
  StepBounds bounds;
  const Program& program = step.program;
  bounds.critical_path = FromSeconds(ToSeconds(critical_path) * kRounding);
  for (const RoleWork& work : step.work) {
    bounds.busiest =
        std::max(bounds.busiest, work.step.total() + work.optimizer.total());
  }
  for (const ResourceId id : result.carried.ids()) {
    const double seconds = result.carried[id] / transfers.capacities[id];
    bounds.busiest = std::max(bounds.busiest, FromSeconds(seconds * kRounding));
  }
  // Everything of every role, or of every rank, one after the other.
  IdVector<CallId, Duration> solo;
  for (const CallId id : program.calls().ids()) {
    solo.Add(SerialTime(transfers, transfers.plan_of_call[id]));
  }
  std::vector<bool> counted(program.roles().size());
  for (const RankId id : program.ranks().ids()) {
    const ProgramRank& rank = program.ranks()[id];
    if (alike && counted[Index(rank.role)]) continue;
    counted[Index(rank.role)] = true;
    const RoleWork& work = step.work[Index(rank.role)];
    bounds.upper += work.step.total() + work.optimizer.total();
    const Role& role = program.roles()[rank.role];
    for (const SlotId slot : role.slots().ids()) {
      // Of a group's calls its first member speaks.
      if (!alike &&
          program.members(program.group_of(id, slot)).front().rank != id) {
        continue;
      }
      for (const TaskId task : role.slots()[slot].sequence) {
        bounds.upper += solo[program.call_of(id, role.task(task))];
      }
    }
  }
  return bounds;
}

}  // namespace orrery
