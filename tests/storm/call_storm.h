#pragma once
// A storm of single calls on any machine. Laws:
//
//   has a plan        the simulator has a way to run it
//   no faster than the bound
//   stepped alone, ALGORITHM
//                     FLUID against STEPPED: 5 %
//   a chip more costs little, the order of ranks does not matter
//   closed form, OP   what it takes by itself is what the closed form says, to
//                     0.1 %
//
// Groups are runs of chips, regular ones, one chip of each node and whatever
// falls out; calls are of every kind and of small, middling and large sizes.
#include "tests/storm/storm.h"

namespace orrery {

Storm CallStorm();

}  // namespace orrery
