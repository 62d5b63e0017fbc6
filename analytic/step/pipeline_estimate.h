#pragma once
// Bubbles, hops and activations in flight of pipeline schedules, on paper.
//
// Uniform stages give the closed forms of the papers; where stages differ, the
// rank with most work sets the pace and the others' passes fill and drain the
// pipeline.
#include <absl/types/span.h>

#include "workload/plan/training_plan.h"

namespace orrery {

// Seconds of one micro-batch on one pipeline rank, all its pieces together.
struct RankTime {
  double forward = 0;
  double input_gradient = 0;
  double weight_gradient = 0;
  double backward() const { return input_gradient + weight_gradient; }
  double total() const { return forward + backward(); }
};

struct PipelineEstimate {
  double bubble_s = 0;
  // Hops that nothing hides.
  double exposed_s = 0;
};

// `hop` is the time of one transfer between neighbours.
PipelineEstimate EstimatePipeline(const TrainingPlan& plan,
                                  absl::Span<const RankTime> ranks, int busiest,
                                  double hop);

// How long before the first rank `rank` ends its last backward pass: as long as
// the gradient takes from it to the first.
double BackwardLead(const TrainingPlan& plan, absl::Span<const RankTime> ranks,
                    int rank, double hop);

// Micro-batches whose activations of `piece` the rank holds when it holds most
// pieces in all.
double PiecesInFlight(const TrainingPlan& plan, int rank, int piece);

// Of the pieces of a rank, how many have gradients that are summed on the rank
// and not reduced yet, at the instant at which most activations live.
int PiecesUnreduced(const TrainingPlan& plan);

}  // namespace orrery
