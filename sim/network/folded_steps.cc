#include "sim/network/folded_steps.h"

#include "base/check.h"

namespace orrery {

PlanSteps FoldedSteps(const CollectivePlan& own,
                      absl::Span<const PhaseLoads* const> replicas,
                      const CallOverhead& overhead) {
  PhaseLoads all = own.routed().loads();
  all.Add(replicas);
  PlanSteps steps = own.With(all).FluidSteps(overhead);
  const PlanSteps alone = own.FluidSteps(overhead);
  CHECK_EQ(alone.steps.size(), steps.steps.size());
  for (size_t i = 0; i < alone.steps.size(); ++i) {
    steps.steps[i].latency = alone.steps[i].latency;
    steps.steps[i].penalty = alone.steps[i].penalty;
  }
  return steps;
}

}  // namespace orrery
