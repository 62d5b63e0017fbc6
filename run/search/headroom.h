#pragma once
// What a search says of the memory that it leaves free.
#include <string>

#include "topology/machine/system.h"

namespace orrery {

// "5 % of each chip's memory stays free (system.memory_headroom)"; empty if the
// machine has no headroom.
std::string HeadroomNote(const System& system);

}  // namespace orrery
