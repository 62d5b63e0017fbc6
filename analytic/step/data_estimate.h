#pragma once
// Gradient reduction, optimizer and parameter gathering of a step, on paper.
#include <array>
#include <optional>
#include <vector>

#include "analytic/collective/group_cost.h"
#include "analytic/step/price_list.h"
#include "workload/plan/placement.h"
#include "workload/plan/stage.h"
#include "workload/plan/training_plan.h"

namespace orrery {

// How the groups of a placement lie on the machine of a price list.
class GroupSpans {
 public:
  // Both must outlive the spans.
  GroupSpans(const Placement& placement, PriceList& prices)
      : placement_(placement), prices_(prices) {}

  // Of rank 0's group; found once.
  const GroupSpan& of(GroupFamily family);

 private:
  const Placement& placement_;
  PriceList& prices_;
  std::array<std::optional<GroupSpan>, kGroupFamilies> known_;
};

struct DataQuestion {
  const Model& model;
  const TrainingPlan& plan;
  const Placement& placement;
  GroupSpans& spans;
  PriceList& prices;
  // Parameters of the rank's units in the order in which gradients come.
  std::vector<RankParameters> units;
  double step_backward_s = 0;
  double last_backward_s = 0;  // of the last micro-batch
  double step_forward_s = 0;
  bool overlap = true;
  bool shares_tie = false;
};

// Seconds that one rank adds to its passes.
struct DataTimes {
  double reduction_s = 0;
  // The tied embedding and the norm of the gradient.
  double ends_s = 0;
  double gathering_s = 0;
  double optimizer_s = 0;
};

DataTimes EstimateData(const DataQuestion& question);

}  // namespace orrery
