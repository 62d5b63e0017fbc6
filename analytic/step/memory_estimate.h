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

RankMemory EstimateMemory(const DataQuestion& question, const PlanUnits& units,
                          const KnownPipeline& pipeline);

}  // namespace orrery
