#pragma once
// Why a simulated step and its closed form differ, measured.
//
// Effects that one of the two does not know, or takes differently, are switched
// off one after the other, in both where both have them, and what the
// difference changes by is what the effect is worth:
//
//   link sharing   every call takes as long as it does alone: in both, and at
//                  fidelity CLOSED_FORM in the closed form
//   chip sharing   communication takes nothing from kernels beside it
//   overlap        of each dimension: its communication is waited for
//   fabric         between nodes: one switch that never blocks in its place,
//                  for what a call's own messages lose to one another in it
//   latency        of links, NICs and the collective library, a millionth of it
//   pipeline       what is then left in bubble and hops: the order of passes
//                  against the formula of the schedule
//
// The step of an engine is taken once in both, by itself.
//
// They add up to the difference, but for what is left: that is unexplained, a
// defect of one of the two.
#include <absl/status/statusor.h>

#include "proto/report.pb.h"
#include "run/scenario.h"
#include "run/simulated_run.h"

namespace orrery {

// Of the step; more that is unexplained is an answer of "no".
inline constexpr double kMostUnexplained = 0.01;

// `simulated_s` and `estimate` are those of the scenario with `options`; the
// closed form is ClosedFormBeside it (run/run_scenario.h).
absl::StatusOr<pb::Report::Difference> MeasureDifference(
    const ResolvedScenario& scenario, RunOptions options, double simulated_s,
    const pb::Report::Estimate& estimate);

}  // namespace orrery
