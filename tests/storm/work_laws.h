#pragma once
// What a machine did in a step, of which its energy is made: the same whether
// one rank was simulated for many or each for itself.
#include <optional>
#include <string>

#include "run/simulated_run.h"

namespace orrery {

// Time, arithmetic, bytes of memory and of links, up to rounding; otherwise the
// first that differs.
std::optional<std::string> WhyOtherWork(const SimulatedRun& folded,
                                        const SimulatedRun& whole);

}  // namespace orrery
