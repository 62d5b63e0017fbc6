#pragma once
// StepFloor: what no plan can do without, in a fraction of the time that an
// estimate takes.
//
// Every rank runs the passes of its stages for every micro-batch, with calls
// that take the least they may. It begins when the first micro-batch has come
// through the stages before, and after its last gradient of an input the stages
// before still have theirs to compute. Weight gradients of a schedule that
// splits them can fill that time.
#include "analytic/step/plan_units.h"
#include "base/units.h"
#include "workload/plan/placement.h"
#include "workload/plan/training_plan.h"

namespace orrery {

struct StepFloor {
  double step_s = 0;
  // The most that a rank holds of weights, gradients and optimizer state.
  Bytes state;
};

StepFloor FloorOf(const TrainingPlan& plan, const PlanUnits& units,
                  const Placement& placement);

// Seconds of the plan's kernels, spread evenly over its pipeline ranks.
double MeanKernels(const TrainingPlan& plan, const PlanUnits& units);

}  // namespace orrery
