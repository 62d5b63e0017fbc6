#pragma once
// What another plan would do on the same machine: plans that differ from the
// one given in one respect, chosen by closed form, then simulated.
//
// Advice is what typing its settings gives: each plan was simulated and fits
// into memory with the headroom. `tune` looks at all respects together.
#include <absl/status/statusor.h>

#include <vector>

#include "proto/explanation.pb.h"
#include "proto/report.pb.h"
#include "proto/scenario.pb.h"
#include "run/scenario.h"
#include "run/simulated_run.h"

namespace orrery {

// Less than this saved, and a plan is as good as the other.
inline constexpr double kWorthAdvising = 0.01;

// Faster plans, for a step that takes `step` now. `said` is the scenario before
// defaults were filled in (MergeScenario). The fastest first, at most one for
// each respect:
//   schedule        and the pieces of a stage
//   split           tensor and pipeline degrees; data takes what is left
//   sharding, recompute, micro_batch
// None for inference, or where a rank map fixes the plan. Runs on all
// processors; the result does not depend on how many there are.
// `options.progress` hears how far it is.
absl::StatusOr<std::vector<pb::Explanation::PlanAdvice>> AdvisePlans(
    const pb::Scenario& said, const ResolvedScenario& scenario, Duration step,
    RunOptions options);

// Plans that fit, for one that does not: those that differ in the split, in
// expert parallelism, sharding, recomputation or micro-batch; if none of these
// fits, in all of it. The fastest first.
absl::StatusOr<std::vector<pb::Report::Memory::Change>> AdviseFit(
    const pb::Scenario& said, const ResolvedScenario& scenario,
    RunOptions options);

}  // namespace orrery
