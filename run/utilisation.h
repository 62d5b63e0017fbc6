#pragma once
// How much of each class of resource a run used.
#include <cstdint>
#include <string>
#include <vector>

#include "run/scenario.h"
#include "run/simulated_run.h"

namespace orrery {

// Shares of the step: 1 is always in use, to the full.
struct ResourceClassUse {
  std::string name;
  double mean = 0;
  double most = 0;    // of the most used one
  int64_t count = 0;  // of ranks, or of links that are used at all
};

// In this order:
//   "kernels"         the share of the time in which a kernel runs
//   "matrix units"    executed arithmetic over the peak at the plan's precision
//   "HBM bandwidth"   the traffic of kernels, and what communication holds
//   "scale-up: ...", "scale-out: ..."
//                     what links carried over what they could have, by class
//                     (topology/graph/link_tiers.h); none at CLOSED_FORM
// Requires: `run` was recorded.
std::vector<ResourceClassUse> Utilisation(const ResolvedScenario& scenario,
                                          const SimulatedRun& run);

}  // namespace orrery
