#pragma once
// Transfer plans by themselves, without a program: when does each end?
//
// For tables of collectives and for tests; the engine runs plans in the same
// way inside a program.
#include <absl/types/span.h>

#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "sim/network/collective_plan.h"
#include "sim/sharing/transfer_log.h"
#include "sim/sharing/transfer_plan.h"

namespace orrery {

struct StartedPlan {
  PlanSteps plan;
  Time start{};
};

// When each plan ends, all of them sharing resources of the given capacities
// (bytes per second). `log`, if given, gets their steps; group i is plan i.
std::vector<Time> RunPlans(const IdVector<ResourceId, double>& capacities,
                           absl::Span<const StartedPlan> plans,
                           TransferLog* log = nullptr);

}  // namespace orrery
