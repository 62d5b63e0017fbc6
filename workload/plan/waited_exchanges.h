#pragma once
// Exchanges that software waits for although something could run beside them.
//
// Tokens that go to experts directly, all to all, are a collective call in line
// with the kernels: it starts when both gradients of the experts are done, and
// what needs no tokens waits as well (Megatron-Core's all-to-all dispatcher,
// torchtitan). Kernels that dispatch by node (DeepEP) run on a stream of their
// own, and a DualPipe schedule has another micro-batch to run.
//
//   options.waited = WaitedExchanges(plan, options.waited);
#include "topology/traffic/dimension_set.h"
#include "workload/plan/training_plan.h"

namespace orrery {

// `waited` and those of the plan.
DimensionSet WaitedExchanges(const TrainingPlan& plan, DimensionSet waited);

}  // namespace orrery
