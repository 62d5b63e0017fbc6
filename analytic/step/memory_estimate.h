#pragma once
// What pipeline ranks hold at their peak, on paper.
#include <absl/types/span.h>

#include "analytic/step/data_estimate.h"
#include "analytic/step/known_pipeline.h"
#include "analytic/step/plan_units.h"
#include "base/units.h"

namespace orrery {

// The most of any rank.
struct PlanMemory {
  Bytes peak;
  Bytes held;        // by the framework's allocator
  Bytes first_held;  // the same, of the first rank
};

// Of ranks in their order, the same question for ranks that do the same.
// Gradients that are summed up go when their reduction ends, so that there it
// depends on when passes are (`times`). `layers_only`: without embedding, head
// and what they keep.
PlanMemory EstimateMemory(absl::Span<const DataQuestion* const> ranks,
                          const PlanUnits& units, KnownPipeline& pipeline,
                          const PipelineTimes& times, bool layers_only = false);

}  // namespace orrery
