#pragma once
// Tune: the best plans for a scenario: found by closed form, confirmed by
// simulation.
//
// Each plan comes with the settings to type; whoever types them gets the same
// step time, to the picosecond.
#include <absl/status/statusor.h>

#include "proto/scenario.pb.h"
#include "proto/search.pb.h"
#include "run/search/objective.h"
#include "run/search/plan_search.h"
#include "run/simulated_run.h"

namespace orrery {

struct TuneOptions {
  PlanSearchOptions search = {};
  // How many plans that fit are wanted, simulated.
  int simulate = 5;
  RunOptions run = {};
  // On one machine all of them rank plans alike; it is what plans report.
  Objective objective = Objective::kTime;
};

// `said` is a scenario with a training block, before defaults were filled in
// (MergeScenario).
absl::StatusOr<pb::Tuning> Tune(const pb::Scenario& said,
                                const TuneOptions& options);

}  // namespace orrery
