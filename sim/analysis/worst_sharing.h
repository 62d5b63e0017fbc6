#pragma once
// The worst that sharing can do to a program, whatever happens when: bounds
// that follow from the program and the plans of its calls alone.
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "sim/analysis/role_overlap.h"
#include "sim/sharing/transfer_plan.h"
#include "workload/program/program.h"

namespace orrery {

// How long each call takes if all that can be under way with it is. Groups with
// a stream of a rank in common run one after the other, so of those that have
// their first member in common only one is there at a time. Flows are equals:
// of each resource, a step's flow gets at least the part that is one flow's
// among all that can be there. Nothing if a time is beyond range.
//
// Requires: links are shared flow by flow.
std::optional<IdVector<CallId, Duration>> SlowestCalls(
    const Program& program, const Transfers& transfers);

// By how much collectives that only wait can slow down the kernels of a role.
double SpinningSlowness(const Role& role);

// The most that kernels lose to calls while these run, on all ranks together; a
// path is on one of them at a time. `calls`: how long each takes at most.
// Nothing if kernels share a chip.
std::optional<Duration> MostLost(const Program& program,
                                 const IdVector<RoleId, RoleOverlap>& overlaps,
                                 const IdVector<CallId, Duration>& calls);

}  // namespace orrery
