#pragma once
// StepContext: what every part of the lowering needs to know.
#include "workload/pass_template.h"
#include "workload/placement.h"
#include "workload/plan.h"
#include "workload/schedule.h"
#include "workload/step_templates.h"

namespace orrery {

struct StepContext {
  const Model& model;
  const Plan& plan;
  const Placement& placement;
  const PipelineOrders& orders;
  const StepTemplates& templates;
  OpTimer timer;
  PassOptions options;

  const std::vector<StageUnit>& units_of(int stage) const {
    return templates.of_stage[static_cast<size_t>(stage)];
  }
  const UnitTemplate& unit(const StageUnit& unit) const {
    return templates.units[static_cast<size_t>(unit.unit)];
  }
};

}  // namespace orrery
