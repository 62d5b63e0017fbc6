#pragma once
// The report of a simulated training step.
#include "analytic/step/step_estimate.h"
#include "cli/scenario.h"
#include "proto/report.pb.h"
#include "run/training_step.h"

namespace orrery {

// What the run took from the machine it ran on.
struct RunCost {
  double wall_s = 0;
  int64_t peak_rss_bytes = 0;
};

// Requires: `scenario` is a training scenario and `run` is its run.
pb::Report TrainingReport(const ResolvedScenario& scenario,
                          const TrainingRun& run, const StepEstimate& estimate,
                          const TrainingOptions& options, const RunCost& cost);

void FillEstimate(const StepEstimate& from, pb::Report::Estimate& to);

// Everything but times, from the plan alone: tokens, FLOPs, MFU of a step of
// `step_s` seconds.
void FillThroughput(const ResolvedScenario& scenario, double step_s,
                    Flops recomputed, pb::Report& report);

// Bytes that a rank may use: the chip's memory.
Bytes MemoryCapacity(const System& system);

// What the answer stands on that is not firm ground, each with its reason.
std::vector<std::string> TrainingWarnings(const ResolvedScenario& scenario);

}  // namespace orrery
