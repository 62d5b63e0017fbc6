#pragma once
// What a pipeline rank holds at its peak, on paper.
#include "analytic/step/data_estimate.h"
#include "analytic/step/known_pipeline.h"
#include "analytic/step/plan_units.h"
#include "base/units.h"

namespace orrery {

struct RankMemory {
  Bytes peak;
  Bytes held;  // by the framework's allocator
};

// `layers_only`: without embedding, head and what they keep.
RankMemory EstimateMemory(const DataQuestion& question, const PlanUnits& units,
                          const KnownPipeline& pipeline,
                          bool layers_only = false);

}  // namespace orrery
