#pragma once
// The longest path through a program: how long it takes at best, if nothing is
// shared, and at worst, if everything is shared all the time.
//
// Streams are in order, dependencies are kept and members of a group wait for
// one another, as in the engine; but every task takes a time that is known
// beforehand: with its chip and its links to itself, or with all who could ever
// be there at once. A task that takes longer never lets another end earlier, so
// no run of the program is shorter than the one or longer than the other. Both
// are computed by themselves, from the program and the plans of its calls,
// without the engine, so that they can contradict it.
//
// Cost: that of path_run.h.
#include <optional>

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

// The same with the worst sharing. Of a resource, a flow of a call gets at
// least what is fair among all calls that can be under way at once, one per
// stream of a rank. A kernel has what the communication that can run beside it
// (role_overlap.h) leaves of the chip: at every moment, which bounds its rate;
// and in all, no more is taken from kernels than calls hold for as long as they
// run, which bounds what the path loses. The smaller of the two. Nothing if
// neither is known, or if links are not shared flow by flow. `least`: no more
// than the longest path, which spares work and changes no result.
std::optional<Duration> SlowestPath(const Program& program,
                                    const Transfers& transfers,
                                    Duration least = Duration(0));

}  // namespace orrery
