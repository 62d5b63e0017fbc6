#pragma once
// The longest path through a program: how long it takes if nothing is shared.
//
// Streams are in order, dependencies are kept and members of a group wait for
// one another, as in the engine; but every kernel has its chip and every
// transfer its links to itself. No run of the program can be shorter. It is
// computed by itself, without the engine's queue, so that it can contradict it.
//
// Cost: O(tasks + dependencies), eight bytes per task of every rank.
#include "base/units.h"
#include "sim/sharing/transfer_plan.h"
#include "workload/program/program.h"

namespace orrery {

// A plan with its resources to itself: the longest path through its steps.
Duration ShortestTime(const Transfers& transfers, PlanId plan);
// All steps of a plan one after the other.
Duration SerialTime(const Transfers& transfers, PlanId plan);

// Requires: the program does not stall.
Duration LongestPath(const Program& program, const Transfers& transfers);

}  // namespace orrery
