#pragma once
// Gradient reduction, optimizer and parameter gathering of a step, on paper.
#include <vector>

#include "analytic/step/group_spans.h"
#include "analytic/step/price_list.h"
#include "workload/plan/placement.h"
#include "workload/plan/stage.h"
#include "workload/plan/training_plan.h"

namespace orrery {

struct DataQuestion {
  const Model& model;
  const TrainingPlan& plan;
  const Placement& placement;
  AskedSpans& spans;
  int pipeline_rank = 0;
  PriceList& prices;
  // Parameters of the rank's units, piece by piece, in the order in which
  // gradients come.
  std::vector<std::vector<RankParameters>> pieces;
  // Reductions and gathers hide where the plan lets them.
  bool overlap = true;
  bool shares_tie = false;

  bool overlaps_reduction() const {
    return overlap && plan.overlap_gradient_reduction();
  }
  bool overlaps_gather(bool forward) const {
    return overlap && (forward ? plan.overlap_parameter_gather()
                               : plan.overlap_backward_gather());
  }
};

// Seconds of calls that follow one another, and for how many of them their
// busiest line is.
struct TrafficTime {
  double seconds = 0;
  double wire = 0;

  TrafficTime& operator+=(const TrafficTime& other) {
    seconds += other.seconds;
    wire += other.wire;
    return *this;
  }
};

// What the calls that belong to a unit of a piece take.
struct UnitTraffic {
  // Its weights come.
  TrafficTime gather = {};
  // Its gradient fills a bucket, which is reduced among the ranks that share a
  // copy of the state, and in the last micro-batch between copies.
  bool fills = false;
  TrafficTime reduce = {};
  TrafficTime across = {};
};

struct PieceTraffic {
  std::vector<UnitTraffic> units;  // in the order in which gradients come
  // What fills no bucket, after the last of them.
  UnitTraffic rest;
};

// Seconds that one rank adds to its passes, after them.
struct DataTimes {
  // Reductions that come after all passes.
  double reduction_s = 0;
  double tie_s = 0;  // the tied embedding
  // The optimizer up to the norm of its own gradient, the norm of all, the
  // rest.
  double own_norm_s = 0;
  double norm_s = 0;
  double update_s = 0;
  // Weights that are gathered after the update.
  double gathering_s = 0;

  double optimizer_s() const { return own_norm_s + update_s; }
};

// `least`: no call takes less (PriceList::CallPrice).
DataTimes EstimateData(const DataQuestion& question, bool least = false);
// Piece by piece, as in the question.
std::vector<PieceTraffic> TrafficOf(const DataQuestion& question,
                                    bool least = false);

}  // namespace orrery
