#pragma once
// When the ranks of a pipeline end their passes: a schedule's order with times
// put to it, on paper.
//
//   start(pass) = max(end of the rank's pass before, arrival of what it needs)
//   arrival     = max(end of the sender's pass, arrival of its transfer before)
//                 + hop
//
// That is all there is to a pipeline, whatever the schedule and however the
// stages differ; with equal stages and free hops it gives the bubbles of the
// papers (see workload/plan/schedule.h). It knows passes, not their kernels.
//
//   const std::vector<RankEnd> ends =
//       RunPipeline({.orders = orders, .stages = stages, .hops = hops});
//
// Cost: one maximum or two per pass of the step.
#include <absl/types/span.h>

#include <vector>

#include "workload/plan/schedule.h"

namespace orrery {

// Seconds of one micro-batch in one stage.
struct StageTimes {
  double forward = 0;
  double input_gradient = 0;
  double weight_gradient = 0;
  // Once, before the first forward pass.
  double first_forward = 0;
  // Reductions in the middle of a backward pass, which wait for it and it for
  // them, and those after it: the gradient has left by then, but the next pass
  // waits. `last_` is what the last micro-batch adds.
  double reduce_within = 0;
  double reduce_after = 0;
  double last_within = 0;
  double last_after = 0;
  // No weight gradient waits for the reduction of another: where those have a
  // pass of their own, so long from its start to the end of its reductions.
  double reduce_beside = 0;
};

struct PipelineQuestion {
  const PipelineOrders& orders;
  absl::Span<const StageTimes> stages;
  // From each rank to the next, and from the last to the first.
  absl::Span<const double> hops;
  // What a receiver does with what it gets before it goes on.
  double gather = 0;
  // A rank goes on when what it sent has come.
  bool sends_are_waited_for = false;
};

struct RankEnd {
  double passes = 0;
  double reductions = 0;  // of those among the passes
};

std::vector<RankEnd> RunPipeline(const PipelineQuestion& question);

}  // namespace orrery
