#pragma once
// What steps of continuous batching take: prompts that come in, and sequences
// that decode beside them at the mean context.
#include <absl/status/statusor.h>

#include <cstdint>

#include "run/scenario.h"

namespace orrery {

struct BatchStep {
  double seconds = 0;
  int64_t passes = 0;  // a long prompt takes several
};

// Of decoding alone, and of a step that takes prompts in. Counts are over all
// replicas; the scenario's own batch does not count.
absl::StatusOr<BatchStep> DecodeStep(const ResolvedScenario& scenario,
                                     int64_t sequences);
absl::StatusOr<BatchStep> PromptStep(const ResolvedScenario& scenario,
                                     int64_t prompts, int64_t beside);

// Sequences that fit; an error if not one does.
absl::StatusOr<int64_t> FullBatch(const ResolvedScenario& scenario);

// Prompts that a step of one replica takes beside so many sequences.
int64_t PromptsBeside(const InferencePlan& plan, int64_t decoding,
                      int64_t most);

}  // namespace orrery
