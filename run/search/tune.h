#pragma once
// Tune: the fastest training plan for a scenario, and how sure that is.
//
// The plan as given is simulated first; then plans that can still be faster,
// the most promising by closed form first and one of each family before others
// of it, since a closed form favours or misjudges whole families. A plan whose
// lower bound is no better than the best simulated step is passed over. Where
// the search ends before all others are simulated, it says how much faster one
// of them could be.
//
//   ASSIGN_OR_RETURN(const pb::Tuning tuning, Tune(given, {}));
//   tuning.plans(0).settings()   // to type
//   tuning.bound_s()             // no plan of the space takes less
//
// Whoever types the settings of the best plan gets the same step time, to the
// picosecond. The result does not depend on the number of threads.
#include <absl/status/statusor.h>

#include <optional>

#include "proto/scenario.pb.h"
#include "proto/search.pb.h"
#include "run/search/objective.h"
#include "run/search/plan_search.h"
#include "run/simulated_run.h"

namespace orrery {

// A gap between the best plan and what bounds leave open that counts as none.
inline constexpr double kProvedGap = 0.01;

struct TuneOptions {
  PlanSearchOptions search = {};
  // How many plans to report.
  int best = 5;
  // At most so many plans are simulated; unset: until `effort` is used up.
  std::optional<int> simulate = std::nullopt;
  // Events of the engine, with a price for each plan: about ten seconds of one
  // processor.
  int64_t effort = 60'000'000;
  RunOptions run = {};
  // On one machine all of them rank plans alike; it is what plans report.
  Objective objective = Objective::kTime;
};

// `given` is a scenario with a training block, before defaults were filled in
// (MergeScenario).
absl::StatusOr<pb::Tuning> Tune(const pb::Scenario& given,
                                const TuneOptions& options);

}  // namespace orrery
