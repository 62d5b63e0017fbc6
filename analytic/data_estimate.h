#pragma once
// Gradient reduction, optimizer and parameter gathering of a step, on paper.
#include <vector>

#include "analytic/group_cost.h"
#include "cost/kernel_timer.h"
#include "topology/system.h"
#include "workload/placement.h"
#include "workload/plan.h"
#include "workload/stage.h"

namespace orrery {

// How a family's group lies on nodes of so many chips.
GroupSpan SpanOf(const Placement& placement, GroupFamily family,
                 int chips_per_node);

struct DataQuestion {
  const Model& model;
  const Plan& plan;
  const Placement& placement;
  const System& system;
  const GroupCost& groups;
  const KernelTimer& timer;
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
