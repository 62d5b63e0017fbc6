#pragma once
// What pipeline ranks hold at their peak, on paper.
#include "analytic/step/known_pipeline.h"
#include "analytic/step/plan_units.h"
#include "analytic/step/rank_kinds.h"
#include "base/units.h"

namespace orrery {

// The most of any rank.
struct PlanMemory {
  Bytes peak;
  Bytes held;        // by the framework's allocator
  Bytes first_held;  // the same, of the first rank
};

// Gradients that are summed up go when their reduction ends, so that there it
// depends on when passes are (`times`). `layers_only`: without embedding, head
// and what they keep.
PlanMemory EstimateMemory(const RankKinds& ranks, const PlanUnits& units,
                          KnownPipeline& pipeline, const PipelineTimes& times,
                          bool layers_only = false);

}  // namespace orrery
