#pragma once
// PathEnd: when a program ends if every task takes a time that is known.
//
// Streams are in order, dependencies are kept and members of a group wait for
// one another. Nothing is shared, so nothing needs to be simulated: tasks are
// gone through in any order in which what they wait for comes first.
//
// Of a loop the ends of a few turns are kept. Streams go through the turns
// together, and as times are fixed, they soon repeat: once every task of every
// loop ended so much later than in the turn before, for as many turns as are
// kept, all others do, and are skipped. If something waits for a turn that is
// no longer kept, all is done again with more of them.
//
// Ranks that come to the same places at the same times are gone through once
// (path_classes.h), and so are chains of kernels (kernel_chains.h), of which
// only the ends are kept.
//
// Cost: O(places + dependencies) per class of ranks and as often as it takes
// until turns repeat; eight bytes per place of every class and turn that is
// kept.
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "workload/program/program.h"

namespace orrery {

// How long tasks take.
struct TaskTimes {
  IdVector<CallId, Duration> calls;
  // Of kernels, by role and task of FewTurns, a multiple of their time alone;
  // empty: 1.
  IdVector<RoleId, std::vector<double>> slowness = {};
};

// kBeyondTime if the program stalls.
Duration PathEnd(const Program& program, const TaskTimes& times);

}  // namespace orrery
