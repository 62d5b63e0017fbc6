#pragma once
// Continuous batching in a steady state: a full batch in which every request
// that ends is replaced by a new one.
//
// All requests are there at once (offline), so that the batch is what memory
// and the engine allow. While one request decodes its output, as many prompts
// are processed as requests end: per request, its share of `output` decode
// steps at the mean context, and a prompt, prefilled together with as many
// others as a step takes. What prompts and decoding sequences in one step would
// share of the weights' traffic is not taken into account.
#include <absl/status/statusor.h>

#include <cstdint>

#include "run/scenario.h"

namespace orrery {

struct SteadyState {
  int64_t batch = 0;
  double step_s = 0;    // of decoding, at the mean context
  double prompt_s = 0;  // per prompt
  double output_tokens_per_s = 0;
};

// The scenario's own batch does not count.
absl::StatusOr<SteadyState> RunSteadyState(const ResolvedScenario& scenario);

}  // namespace orrery
