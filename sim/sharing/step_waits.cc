#include "sim/sharing/step_waits.h"

namespace orrery {

void StepWaits::Start(const TransferPlans& plans, PlanId plan) {
  plans_ = &plans;
  plan_ = plan;
  loops_ = plans.loops(plan);
  const int32_t count = plans.listed_count(plan);
  missing_.clear();
  counts_.clear();
  waits_.clear();
  if (loops_.empty()) {
    for (int32_t i = 0; i < count; ++i) {
      missing_.push_back(plans.listed(plan, i).predecessors);
    }
    return;
  }
  int32_t waits = 0;
  for (int32_t i = 0; i < count; ++i) {
    const TransferPlans::Step step = plans.listed(plan, i);
    counts_.push_back({.begun = step.predecessors == 0 ? 1 : 0,
                       .loop = step.loop,
                       .waits_begin = waits,
                       .waits_end = waits});
    waits += step.predecessors;
  }
  waits_.resize(static_cast<size_t>(waits));
  for (int32_t i = 0; i < count; ++i) {
    for (const int32_t next : plans.listed(plan, i).successors) {
      waits_[static_cast<size_t>(
          counts_[static_cast<size_t>(next)].waits_end++)] = i;
    }
  }
}

}  // namespace orrery
