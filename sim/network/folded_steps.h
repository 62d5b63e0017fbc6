#pragma once
// The steps of a call that stands for others that run at the same time.
//
// All of them put their bytes on the links, so they slow each other down as if
// each were simulated. What passes before bytes flow is each group's own; only
// bytes meet.
#include <absl/types/span.h>

#include "sim/network/collective_plan.h"
#include "sim/network/phase_loads.h"

namespace orrery {

// The fluid steps of `own` with the loads of `replicas`, which run the same
// schedule, beside it.
PlanSteps FoldedSteps(const CollectivePlan& own,
                      absl::Span<const PhaseLoads* const> replicas,
                      const CallOverhead& overhead);

}  // namespace orrery
