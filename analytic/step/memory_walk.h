#pragma once
// The peak of what a pipeline rank holds beside its static state: activations,
// gradients that are not reduced yet, weights that stay gathered.
//
// A rank runs its passes one after the other, so the order of a schedule alone
// says what it holds when, whatever the times; but for gradients, which go when
// their reduction ends.
//
//   const WalkPeak peak = WalkMemory(
//       orders, rank, RepeatsInPairs(orders.of_rank[rank]), pieces);
//
// Cost: a few sums per pass of the rank, turns that repeat counted once.
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
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
  // Seconds of the pass that completes its gradient; and of the reduction of
  // the bucket that its gradient fills, which begins at once in the last
  // micro-batch.
  double backward_s = 0;
  double gather_s = 0;  // before that
  std::optional<double> bucket_s = std::nullopt;
  // Of its passes, for those that take turns with another: see
  // PipelineAction::with_next.
  int forward_tasks = 1;
  int backward_tasks = 1;
};

struct WalkPeak {
  int64_t total = 0;
  int64_t activations = 0;  // of them, at that instant
};

// Of each action of an order: how many from it on do the same as the one two
// before them. Turns of two passes are long where a schedule is steady.
std::vector<uint32_t> RepeatsInPairs(const std::vector<PipelineAction>& order);

// `repeats`: those of the rank's order. `pieces`: the units of each piece, in
// the order of the forward pass. `pass_ends`: seconds, of the passes of the
// rank; without them the last backward passes of its pieces follow one another.
WalkPeak WalkMemory(const PipelineOrders& orders, int rank,
                    absl::Span<const uint32_t> repeats,
                    absl::Span<const std::vector<UnitMemory>> pieces,
                    absl::Span<const double> pass_ends = {});

}  // namespace orrery
