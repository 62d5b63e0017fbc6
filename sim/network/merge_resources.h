#pragma once
// Resources that no plan tells apart, merged into one.
//
// Two resources that every step of every plan loads alike, in proportion to
// their capacities, fill up together: one of them is as good as both. Resources
// that nothing uses are dropped.
#include <absl/types/span.h>

#include <vector>

#include "base/ids.h"
#include "sim/network/collective_plan.h"
#include "sim/sharing/transfer_plan.h"

namespace orrery {

// Rewrites the uses in `plans` and returns the capacities of what is left.
// Loads are taken as alike if they agree to about nine digits. `merged`,
// if given, tells of each resource that is left which it stands for, in order.
IdVector<ResourceId, double> MergeResources(
    const IdVector<ResourceId, double>& capacities, absl::Span<PlanSteps> plans,
    IdVector<ResourceId, std::vector<ResourceId>>* merged = nullptr);

}  // namespace orrery
