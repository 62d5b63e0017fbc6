#pragma once
// What would make a training plan fit into memory.
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "cli/progress.h"
#include "cli/scenario.h"
#include "proto/report.pb.h"
#include "run/training_step.h"

namespace orrery {

// Single changes (more recomputation, sharding, tensor or pipeline parallelism,
// a smaller micro-batch) with which the plan fits, fastest first: each was
// simulated, and has the peak of its memory over time and its step time. What
// the closed form puts far beyond the memory is not tried.
std::vector<pb::Report::Memory::Change> AdviseFit(
    const ResolvedScenario& scenario, const TrainingOptions& options,
    Progress& progress);

// A line for each, with the price in step time.
std::string AdviceText(const pb::Report& report);

}  // namespace orrery
