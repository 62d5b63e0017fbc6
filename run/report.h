#pragma once
// The report of a run.
#include "analytic/step/step_estimate.h"
#include "proto/report.pb.h"
#include "run/scenario.h"
#include "run/simulated_run.h"

namespace orrery {

// What the run took from the machine it ran on.
struct RunCost {
  double wall_s = 0;
  int64_t peak_rss_bytes = 0;
};

// Requires: `run` is the run of `scenario`.
pb::Report MakeReport(const ResolvedScenario& scenario, const SimulatedRun& run,
                      const StepEstimate& estimate, const RunOptions& options,
                      const RunCost& cost);

void FillEstimate(const StepEstimate& from, pb::Report::Estimate& to);

// What the answer stands on that is not firm ground, each with its reason, and
// how near measured runs are.
void AddWarnings(const ResolvedScenario& scenario, pb::Report& report);

// What a step of `step_s` seconds gets done.
void FillThroughput(const ResolvedScenario& scenario, double step_s,
                    Flops recomputed, pb::Report& report);

// Bytes that a rank may use: the chip's memory.
Bytes MemoryCapacity(const System& system);

// Bytes that a searched plan may use: what the headroom leaves of it.
Bytes PlannedCapacity(const System& system);

// Bytes that a rank needs at the most: its tensors at their peak, what the
// framework's allocator holds beside them, and what libraries keep.
Bytes MemoryNeeded(const ResolvedScenario& scenario, const MemoryPeaks& memory);
Bytes MemoryNeeded(const TrainingPlan& plan, const Kernels& kernels,
                   const MemoryPeaks& memory);

}  // namespace orrery
