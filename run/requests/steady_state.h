#pragma once
// Continuous batching in a steady state: a full batch in which every request
// that ends is replaced by a new one.
//
// All requests are there at once (offline), so that the batch is what memory
// and the engine allow. While one request decodes its output, as many prompts
// are processed as requests end, each step taking in as many as its tokens
// allow beside the sequences that decode, at the mean context:
//
//   a step takes p prompts; B sequences bring B/p steps with prompts in every
//   `output` steps, and output - B/p without;
//   if that is less than none, every step has p prompts, and p x output
//   sequences decode beside them, fewer than B.
//
// Prompts and decoding sequences in one step share the traffic of the weights,
// if the engine runs them so (mixed_steps); otherwise a step of prompts comes
// between steps of decoding.
#include <absl/status/statusor.h>

#include <cstdint>

#include "run/scenario.h"

namespace orrery {

struct SteadyState {
  int64_t batch = 0;
  double step_s = 0;   // of decoding alone, at the mean context
  double mixed_s = 0;  // with prompts; of an engine that does not mix, those
  // Prompts that a step takes, over all replicas.
  int64_t prompts = 0;
  double output_tokens_per_s = 0;
};

// The scenario's own batch does not count.
absl::StatusOr<SteadyState> RunSteadyState(const ResolvedScenario& scenario);

}  // namespace orrery
