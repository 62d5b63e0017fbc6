#pragma once
// Laws of what a report says of a training step, from the scenario as text and
// from formulas of the literature:
//
//   tokens         tokens per second x step = batch x sequence, and per chip
//   utilisation    MFU x peak x step x chips = model FLOPs, with the peak of
//                  the plan's number format; HFU - MFU = the recomputed share
//   parts          of the step, of the peak of memory and of the closed form
//                  sum to the whole; a dimension of one rank takes no time
//   bounds         the step is within them; the lower is the larger of two
//   explanation    a wait, and what slows kernels, is one time in the report
//                  and in the explanation of a recorded run
//   memory         fits if what is reserved is within the chip; the peak is
//                  that of the fullest stage; weights, gradients and optimizer
//                  are those of the same parameters
//   arithmetic     what kernels execute is what the model needs, and what is
//                  computed again, for every split of tokens, layers, heads and
//                  experts; so much is what matrix units are in use for
#include "proto/report.pb.h"
#include "run/scenario.h"
#include "run/simulated_run.h"
#include "tests/storm/storm.h"

namespace orrery {

// Requires: `report` is made of a run of the training scenario.
void HoldTrainingReport(const ResolvedScenario& scenario,
                        const SimulatedRun& run, const pb::Report& report,
                        StormSheet& sheet);

// Requires: `run` was recorded.
void HoldArithmetic(const ResolvedScenario& scenario, const SimulatedRun& run,
                    StormSheet& sheet);

}  // namespace orrery
