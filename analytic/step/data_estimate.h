#pragma once
// Gradient reduction, optimizer and parameter gathering of a step, on paper.
#include <optional>
#include <vector>

#include "analytic/step/group_spans.h"
#include "analytic/step/pipeline_clock.h"
#include "analytic/step/price_list.h"
#include "workload/plan/placement.h"
#include "workload/plan/stage.h"
#include "workload/plan/training_plan.h"

namespace orrery {

// Parameters of a unit, as passes meet them.
struct UnitParameters {
  RankParameters parameters;
  // It has input gradients to compute: an embedding has none.
  bool in_input_gradient = true;
  double weight_gradient_s = 0;
};

struct DataQuestion {
  const Model& model;
  const TrainingPlan& plan;
  const Placement& placement;
  AskedSpans& spans;
  int pipeline_rank = 0;
  PriceList& prices;
  // Units of the rank, piece by piece, in the order in which gradients come.
  std::vector<std::vector<UnitParameters>> pieces;
  // Micro-batches that a piece sees.
  double rounds = 1;
  double step_backward_s = 0;
  double last_backward_s = 0;  // of the last micro-batch
  double step_forward_s = 0;
  bool overlap = true;
  bool shares_tie = false;
};

// Seconds that one rank adds to its passes, after them.
struct DataTimes {
  double reduction_s = 0;
  double tie_s = 0;  // the tied embedding
  // The optimizer up to the norm of its own gradient, the norm of all, the
  // rest.
  double own_norm_s = 0;
  double norm_s = 0;
  double update_s = 0;
  double gathering_s = 0;

  double optimizer_s() const { return own_norm_s + update_s; }
};

DataTimes EstimateData(const DataQuestion& question);

// What is gathered and reduced among the passes of one of the rank's pieces,
// where nothing hides it.
void AddSharding(const DataQuestion& question, int piece, StageTimes& times);

// Of a piece's units in the order in which gradients come: how long the bucket
// takes that each fills; nothing where it fills none.
std::vector<std::optional<double>> BucketTimes(const DataQuestion& question,
                                               int piece);
// Of the same units: how long the passes that complete their gradients wait for
// their weights.
std::vector<double> BackwardGathers(const DataQuestion& question, int piece);

}  // namespace orrery
