#pragma once
// The tasks of a pass of a unit, in the order in which a rank starts them, and
// what each of them waits for, on paper.
//
// A step on the main chain waits for the one before it; a step that is marked
// `beside_exchange` for what stood before the last exchange; weight gradients
// for the gradient that reaches their module (workload/model/layer.h). Blocks
// of rings and pieces of chunked exchanges are tasks of their own.
//
//   const PassTasks tasks = TasksOf({.unit = unit, .plan = plan, .chunks = 1},
//                                   PipelinePass::kForward);
#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "analytic/step/priced_unit.h"
#include "topology/traffic/dimension_set.h"
#include "workload/plan/schedule.h"
#include "workload/plan/training_plan.h"

namespace orrery {

// Tasks by their number in the pass; `kPassInput` is what comes from the pass
// before.
using TaskNumbers = absl::InlinedVector<int32_t, 4>;
constexpr int32_t kPassInput = -1;

struct TimedTask {
  // Of an exchange; a kernel has none.
  std::optional<Dimension> dimension;
  double seconds = 0;
  double least = 0;  // no less (PriceList::CallPrice)
  TaskNumbers after;
};

struct PassTasks {
  std::vector<TimedTask> tasks;
  // When they have ended the result is there.
  TaskNumbers exits;
  // A host that waits for every kernel holds the chip up so long before.
  double held_up = 0;
};

struct PassQuestion {
  const PricedUnit& unit;
  const TrainingPlan& plan;
  int chunks = 1;
};

// Of the unit's pass, what is computed again included.
PassTasks TasksOf(const PassQuestion& question, PipelinePass pass);

}  // namespace orrery
