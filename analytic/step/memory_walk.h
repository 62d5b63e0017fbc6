#pragma once
// The peak of what a pipeline rank holds beside its static state: activations,
// gradients that are not reduced yet, weights that stay gathered.
//
// A rank runs its passes one after the other, so the order of a schedule alone
// says what it holds when, whatever the times.
//
//   const WalkPeak peak = WalkMemory(orders, rank, pieces);
//
// Cost: a few sums per pass of the rank.
#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "workload/plan/schedule.h"

namespace orrery {

// Bytes of one unit (embedding, layer, head) in one micro-batch.
struct UnitMemory {
  // From its forward to the end of its backward pass.
  int64_t kept = 0;
  // Computed again for the backward pass.
  int64_t recomputed = 0;
  // Of its gradient, from the first backward pass to the last, if it is summed
  // up before it is reduced; and of its weights, if gathered once.
  int64_t unreduced = 0;
  int64_t gathered = 0;
  // Its gradient fills a bucket, which is reduced at once in the last
  // micro-batch.
  bool fills_bucket = false;
};

struct WalkPeak {
  int64_t total = 0;
  int64_t activations = 0;  // of them, at that instant
};

// `pieces`: the units of each piece, in the order of the forward pass.
WalkPeak WalkMemory(const PipelineOrders& orders, int rank,
                    absl::Span<const std::vector<UnitMemory>> pieces);

}  // namespace orrery
