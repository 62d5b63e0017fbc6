#pragma once
// What could be taken away from a step, and what it would take without it.
//
//   congestion      every call has the network to itself; the links are named
//                   where the step lost time on them
//   slow chip, link fault
//                   each by itself, and all of them together
//   uneven routing  every expert gets as many tokens
//   chips that differ
//                   all chips are as fast as a mean one
//   bubble          the pipeline never fills or drains: twice the micro-batches
//                   take so much longer, and the optimizer's step is added.
//                   Both without data communication, which a step does once
//   exposed communication
//                   of each dimension: it takes no time, with what congestion
//                   and faults add to it. It stands after these unless it saves
//                   clearly more
//   communication beside kernels
//                   takes nothing from them
//   kernel launches, host
//                   take no time
//   recomputation   activations are kept, if they fit or not
//
// Each is measured by simulating the step without it.
#include <absl/status/statusor.h>

#include <vector>

#include "proto/explanation.pb.h"
#include "run/scenario.h"
#include "run/simulated_run.h"

namespace orrery {

inline constexpr char kCongestion[] = "congestion";
inline constexpr char kSlowChip[] = "slow chip";
inline constexpr char kLinkFault[] = "link fault";

// The largest first; those that save less than a thousandth are left out. `run`
// is that of the scenario with these options. Runs on all processors; the
// result does not depend on how many there are. `options.progress` hears how
// far it is.
absl::StatusOr<std::vector<pb::Explanation::Removal>> MeasureRemovals(
    const ResolvedScenario& scenario, const SimulatedRun& run,
    RunOptions options);

}  // namespace orrery
