#pragma once
// What would make a training plan fit into memory.
#include <string>
#include <vector>

#include "cli/scenario.h"

namespace orrery {

// One change of the plan with which it fits, as it would be typed, and what it
// does to peak memory and step time by the closed form.
struct FitAdvice {
  std::vector<std::string> settings;  // "training.recompute=RECOMPUTE_FULL"
  int64_t peak_bytes = 0;
  double step_s = 0;
};

// Single changes (more recomputation, sharding, tensor or pipeline
// parallelism, a smaller micro-batch) that were evaluated and fit, fastest
// first.
std::vector<FitAdvice> AdviseFit(const ResolvedScenario& scenario);

// "by 21.3 GiB; activations are 61 % of it. It would fit with: ..."
std::string AdviceText(const std::vector<FitAdvice>& advice);

}  // namespace orrery
