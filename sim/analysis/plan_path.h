#pragma once
// The longest path through the steps of a transfer plan, for any idea of how
// long a step takes.
#include <algorithm>
#include <vector>

#include "base/units.h"
#include "sim/sharing/transfer_plan.h"

namespace orrery {

// Each step takes as long as time(step) says.
template <class TimeOf>
Duration LongestChain(const Transfers& transfers, PlanId plan, TimeOf time) {
  const auto steps = static_cast<size_t>(transfers.plans.step_count(plan));
  std::vector<Duration> start(steps);
  std::vector<int32_t> waits(steps);
  std::vector<int32_t> ready;
  for (size_t i = 0; i < steps; ++i) {
    waits[i] = transfers.plans.step(plan, static_cast<int32_t>(i)).predecessors;
    if (waits[i] == 0) ready.push_back(static_cast<int32_t>(i));
  }
  Duration longest{};
  while (!ready.empty()) {
    const int32_t i = ready.back();
    ready.pop_back();
    const TransferPlans::Step step = transfers.plans.step(plan, i);
    const Duration end = start[static_cast<size_t>(i)] + time(step);
    longest = std::max(longest, end);
    for (const int32_t next : step.successors) {
      const auto n = static_cast<size_t>(next);
      start[n] = std::max(start[n], end);
      if (--waits[n] == 0) ready.push_back(next);
    }
  }
  return longest;
}

}  // namespace orrery
