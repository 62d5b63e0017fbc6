#pragma once
// The rank that speaks for a run: the one with most work.
#include "workload/program/placed_program.h"

namespace orrery {

// The first simulated rank of the role whose passes take longest by themselves;
// of equal roles the first.
RankId BusiestRank(const PlacedProgram& placed);

}  // namespace orrery
