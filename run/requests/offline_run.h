#pragma once
// A number of requests, all there at once, through continuous batching: the
// batch fills, every request that ends is replaced, and at the end the batch
// drains.
//
// With few more requests than the batch holds that is not the steady state
// (run/requests/steady_state.h): the last of them run in a batch that is nearly
// empty, and take as many steps. Steps are taken one after the other, with the
// prompts that fit into each, and cost what DecodeStep and PromptStep say of
// batches that are full, half full and so on, in between by straight lines.
#include <absl/status/statusor.h>

#include <cstdint>

#include "run/scenario.h"

namespace orrery {

struct OfflineRun {
  int64_t batch = 0;  // at the most
  double seconds = 0;
  double output_tokens_per_s = 0;
};

// The scenario's own batch does not count. `requests` are at least 1; replicas
// share them evenly.
absl::StatusOr<OfflineRun> RunOffline(const ResolvedScenario& scenario,
                                      int64_t requests);

}  // namespace orrery
