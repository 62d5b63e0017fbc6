#pragma once
// The best training plans of a space by their closed form.
//
// Exact: plans that are passed over have a floor (the time of their kernels
// alone) that is no better than plans already found, so that the result is the
// one of looking at all of them. The result does not depend on the number of
// threads.
#include <absl/types/span.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "proto/scenario.pb.h"
#include "run/scenario.h"
#include "run/search/plan_choice.h"
#include "run/search/plan_space.h"

namespace orrery {

struct PlanSearchOptions {
  // How many plans to return.
  int best = 10;
  // Without it every plan is estimated.
  bool prune = true;
  // What of the plan stays as it was said.
  std::vector<PlanAxis> kept = {};
  std::function<void(std::string_view stage, double done)> progress = {};
};

struct FoundPlan {
  PlanChoice choice;
  double step_s = 0;
  Bytes peak;
};

struct PlanSearch {
  // Fastest first; of equally fast ones, the smallest choice.
  std::vector<FoundPlan> best;
  // Of all plans of the space:
  int64_t estimated = 0;
  int64_t illegal = 0;    // a rule of plans is broken
  int64_t pruned = 0;     // cannot be among the best
  int64_t too_large = 0;  // of the estimated: do not fit into memory
  int64_t total() const { return estimated + illegal + pruned; }
};

// `said` is the scenario's training block before defaults were filled in.
absl::StatusOr<PlanSearch> SearchPlans(const ResolvedScenario& scenario,
                                       const pb::Training& said,
                                       const PlanSearchOptions& options);

}  // namespace orrery
