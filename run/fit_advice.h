#pragma once
// What would make a plan fit into memory.
#include <absl/status/statusor.h>

#include <functional>
#include <string_view>
#include <vector>

#include "proto/report.pb.h"
#include "run/scenario.h"
#include "run/simulated_run.h"

namespace orrery {

// Single changes (more recomputation, sharding, tensor or pipeline parallelism,
// a smaller micro-batch) with which the plan fits, fastest first: each was
// simulated, and has the peak of its memory over time and its step time. What
// the closed form puts far beyond the memory is not tried.
std::vector<pb::Report::Memory::Change> AdviseFit(
    const ResolvedScenario& scenario, const RunOptions& options,
    const std::function<void(std::string_view, double)>& progress = {});

}  // namespace orrery
