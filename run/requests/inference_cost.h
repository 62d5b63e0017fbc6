#pragma once
// What tokens cost, in money, energy and carbon: prompt tokens what the prefill
// takes of its chips, output tokens what decoding takes of its own.
//
//   FillInferenceCost(scenario, {prefill_work, decode_work}, report);
//
// Each phase has a machine with its price, a share of it (its pool), a rate of
// tokens and, if it was simulated, the power that it draws. Results are
// intervals over the prices and rates of the list, as everywhere
// (docs/cost.md).
#include <optional>

#include "cost/ownership/step_energy.h"
#include "proto/report.pb.h"
#include "run/scenario.h"

namespace orrery {

// What the chips of each phase did in so much time; without it they are taken
// to draw a fixed share of their limit, and nothing is said of energy.
struct InferenceWork {
  std::optional<StepWork> prefill;
  std::optional<StepWork> decode;
};

// Replaces `cost` and `energy` of a report whose rates are there. Where a price
// or a power limit is missing, a warning says so instead.
void FillInferenceCost(const ResolvedScenario& scenario,
                       const InferenceWork& work, pb::Report& report);

}  // namespace orrery
