#pragma once
// PlanCase: plans on 64 chips (plans.h), one per dimension, pairs of
// dimensions, routings of tokens and all five dimensions at once, for tests
// that hold something to be true of every plan.
//
//   for (const PlanCase& c : WithCommonPlans(kOwn)) ...
#include <absl/types/span.h>

#include <iterator>
#include <vector>

#include "tests/workload/plan/plans.h"

namespace orrery {

struct PlanCase {
  const char* name;
  const char* plan;
  const char* model;
};

inline constexpr PlanCase kCommonPlans[] = {
    {"tensor", "parallel { tensor: 8 }", kCaseModel},
    {"sequence", "parallel { tensor: 8 sequence_parallel: true }", kCaseModel},
    {"ulysses", "parallel { context: 8 } context_method: CONTEXT_ULYSSES",
     kCaseModel},
    {"context gather",
     "parallel { context: 8 } context_method: CONTEXT_ALL_GATHER", kCaseModel},
    {"context ring", "parallel { context: 8 }", kCaseModel},
    {"zero 0", "sharding: ZERO_0", kCaseModel},
    {"expert", "parallel { expert: 8 }", kCaseExperts},
    {"pipeline", "parallel { pipeline: 8 }", kCaseModel},
    {"zero 2", "sharding: ZERO_2", kCaseModel},
    {"zero 3", "sharding: ZERO_3", kCaseModel},
    {"zero 2 accumulated", "sharding: ZERO_2 accumulate_locally: true",
     kCaseModel},
    {"zero 3 not resharded", "sharding: ZERO_3 reshard_after_forward: false",
     kCaseModel},
    {"zero 3 gathered after", "sharding: ZERO_3 overlap_backward_gather: false",
     kCaseModel},
    {"tensor pipeline",
     "parallel { tensor: 4 pipeline: 4 sequence_parallel: true }", kCaseModel},
    {"tensor context", "parallel { tensor: 4 context: 4 }", kCaseModel},
    {"tensor expert",
     "parallel { tensor: 4 expert: 4 expert_tensor: 2 sequence_parallel: true "
     "}",
     kCaseExperts},
    {"hybrid", "sharding: ZERO_3 sharding_group: 8", kCaseModel},
    {"some layers recomputed",
     "parallel { pipeline: 2 } recompute: RECOMPUTE_FULL recompute_layers: 3",
     kCaseModel},
    {"one hot expert", "parallel { expert: 8 pipeline: 2 } expert_imbalance: 3",
     kCaseExperts},
    {"histogram",
     "parallel { expert: 4 } expert_load: [9, 1, 4, 4, 2, 3, 4, 5, 4, 4, 4, 4, "
     "1, 8, 0, 7]",
     kCaseExperts},
    {"histogram over tensor ranks",
     "parallel { tensor: 4 expert: 4 expert_tensor: 2 sequence_parallel: true "
     "} "
     "expert_load: [9, 1, 4, 4, 2, 3, 4, 5, 4, 4, 4, 4, 1, 8, 0, 7]",
     kCaseExperts},
    {"dispatch by node",
     "parallel { expert: 16 pipeline: 2 } dispatch_method: DISPATCH_BY_NODE",
     kCaseExperts},
    {"histogram by node",
     "parallel { expert: 16 } dispatch_method: DISPATCH_BY_NODE "
     "expert_load: [9, 1, 4, 4, 2, 3, 4, 5, 4, 4, 4, 4, 1, 8, 0, 7]",
     kCaseExperts},
    {"five",
     "parallel { tensor: 2 context: 2 pipeline: 4 expert: 4 "
     "sequence_parallel: true } recompute: RECOMPUTE_SELECTIVE",
     kCaseExperts},
};

// The plans above, then `own`.
inline std::vector<PlanCase> WithCommonPlans(absl::Span<const PlanCase> own) {
  std::vector<PlanCase> all(std::begin(kCommonPlans), std::end(kCommonPlans));
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

}  // namespace orrery
