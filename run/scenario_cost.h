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

// The scenario with its price list by name, and with the numbers of that list
// that turn a bill into dollars per hour, run and token: nothing that decides
// its cost but the price of a part is left unsaid. It costs the same.
absl::StatusOr<pb::Scenario> WithRates(pb::Scenario scenario);

// Fills `cost` and `energy` of a report whose step time and tokens are there:
// of the step (inference_cost.h has the tokens of requests). Without `work` (a
// closed form) the machine is taken to draw a fixed share of its limit and
// there is no energy block. Where a price or the chip's power limit is missing,
// a warning says so instead.
void FillCost(const ResolvedScenario& scenario, const StepWork* work,
              pb::Report& report);

}  // namespace orrery
