#pragma once
// What a pipeline passes from rank to rank, on paper.
#include <vector>

#include "analytic/step/group_spans.h"
#include "analytic/step/price_list.h"
#include "workload/model/layer_shape.h"
#include "workload/model/model.h"
#include "workload/plan/training_plan.h"

namespace orrery {

// Seconds of the transfers from each rank to the next (from the last to the
// first), and of what their receivers gather. No transfers: they are free.
struct HopTimes {
  std::vector<double> transfers;
  double gather = 0;
  // The least they may take (PriceList::CallPrice).
  std::vector<double> least_transfers;
  double least_gather = 0;
};

HopTimes PipelineHops(const Model& model, const TrainingPlan& plan,
                      const LayerShape& shape, GroupSpans& spans,
                      PriceList& prices);

}  // namespace orrery
