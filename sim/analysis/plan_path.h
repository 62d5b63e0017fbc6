#pragma once
// The longest path through the steps of a transfer plan, for any idea of how
// long a step takes.
#include "base/units.h"
#include "sim/sharing/step_waits.h"
#include "sim/sharing/transfer_plan.h"

namespace orrery {

// Each step takes as long as time(step) says.
template <class TimeOf>
Duration LongestChain(const Transfers& transfers, PlanId plan, TimeOf time) {
  return LongestChain(transfers.plans, plan, time);
}

}  // namespace orrery
