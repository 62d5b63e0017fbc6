#pragma once
// The rank that speaks for a run: the one with most work.
#include "workload/program/placed_program.h"

namespace orrery {

// The simulated rank whose passes take longest by themselves, on its chip; of
// equal ones the first of the first role.
RankId BusiestRank(const PlacedProgram& placed);

}  // namespace orrery
