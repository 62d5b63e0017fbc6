#pragma once
// What a scenario costs, in money and energy: the `cost` and `energy` blocks of
// a report.
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "cost/ownership/machine_cost.h"
#include "proto/report.pb.h"
#include "run/scenario.h"
#include "run/simulated_run.h"

namespace orrery {

// What the machine did in the step that was simulated.
StepWork WorkOf(const SimulatedRun& run);

// The machine of the scenario, priced. The error names what has no price.
absl::StatusOr<MachineCost> PriceMachine(const ResolvedScenario& scenario);
// Another machine, at the prices of the scenario.
absl::StatusOr<MachineCost> PriceMachine(const ResolvedScenario& scenario,
                                         const System& system);

// Fills `cost` and `energy` of a report whose step time and tokens are there:
// of the step (inference_cost.h has the tokens of requests). Without `work` (a
// closed form) the machine is taken to draw a fixed share of its limit and
// there is no energy block. Where a price or the chip's power limit is missing,
// a warning says so instead.
void FillCost(const ResolvedScenario& scenario, const StepWork* work,
              pb::Report& report);

}  // namespace orrery
