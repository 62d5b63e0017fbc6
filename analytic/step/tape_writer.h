#pragma once
// Tapes of a plan's ranks, for steps in which nothing hides: every dimension is
// waited for.
//
//   const RankTapes tapes = WriteTapes({model, plan, placement, orders,
//                                       classes, units, prices, data});
#include <absl/types/span.h>

#include <vector>

#include "analytic/step/data_estimate.h"
#include "analytic/step/plan_units.h"
#include "analytic/step/price_list.h"
#include "analytic/step/rank_tape.h"
#include "workload/model/model.h"
#include "workload/plan/placement.h"
#include "workload/plan/rank_classes.h"
#include "workload/plan/schedule.h"
#include "workload/plan/training_plan.h"

namespace orrery {

struct TapeQuestion {
  const Model& model;
  const TrainingPlan& plan;
  const Placement& placement;
  const PipelineOrders& orders;
  const RankClasses& classes;
  // By class, with their ops.
  std::vector<const PlanUnits*> units;
  PriceList& prices;
  // By pipeline rank: what optimizers take.
  absl::Span<const DataTimes> data;
};

RankTapes WriteTapes(const TapeQuestion& question);

}  // namespace orrery
