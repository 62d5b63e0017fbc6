#pragma once
// When the kernels of a pass end, and when its result is there, on paper.
//
// A rank runs kernels in one row. Exchanges run beside them, those of each
// dimension in a row of their own, and tasks wait for those that they need
// (pass_tasks.h). With times put to the tasks, everything follows from maxima
// and sums.
//
//   const PassDelays delays = WalkPass(tasks, {});
#include <absl/types/span.h>

#include "analytic/step/pass_delays.h"
#include "analytic/step/pass_tasks.h"

namespace orrery {

struct WalkOptions {
  // Exchanges that are waited for, and kernels that wait for them.
  DimensionSet waited = {};
  // Exchanges take the least they may.
  bool least = false;
};

PassDelays WalkPass(const PassTasks& tasks, const WalkOptions& options);
// Both ends after the host has started the last kernel (LaunchTails).
PassMoment WalkTail(const PassTasks& tasks, const WalkOptions& options);

// A forward and a backward pass of a rank that take turns, unit by unit: the
// one that is further behind starts its next task. Requires: nothing is waited
// for.
using UnitTasks = absl::Span<const PassTasks* const>;
PairDelays WalkPair(UnitTasks first, UnitTasks second, bool least);

}  // namespace orrery
