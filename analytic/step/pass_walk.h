#pragma once
// When the kernels of a pass end, and when its result is there, on paper.
//
// A rank runs kernels in one row. Exchanges run beside them, each group in a
// row of its own, and kernels wait for those that they need: a step on the main
// chain waits for the one before it; a step that is marked `beside_exchange`
// for what stood before the last exchange; weight gradients for the gradient
// that reaches their module (workload/model/layer.h). With times put to the
// steps, everything follows from maxima and sums.
//
//   const PassDelays delays =
//       WalkPass({.unit = unit, .plan = plan}, PipelinePass::kForward);
#include "analytic/step/pass_delays.h"
#include "analytic/step/priced_unit.h"
#include "workload/plan/schedule.h"
#include "workload/plan/training_plan.h"

namespace orrery {

// What a walk goes through.
struct PassQuestion {
  const PricedUnit& unit;
  const TrainingPlan& plan;
  // Exchanges that are waited for, and kernels that wait for them.
  DimensionSet waited;
  int chunks = 1;
  // Exchanges take the least they may.
  bool least = false;
};

// Of the unit's pass, what is computed again included.
PassDelays WalkPass(const PassQuestion& question, PipelinePass pass);
// Those that the plan's schedule has.
PassSet WalkPasses(PassQuestion question);

}  // namespace orrery
