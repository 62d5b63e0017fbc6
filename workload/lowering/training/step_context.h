#pragma once
// StepContext: what every part of the lowering needs to know.
#include "workload/lowering/pass_template.h"
#include "workload/lowering/training/step_templates.h"
#include "workload/plan/placement.h"
#include "workload/plan/schedule.h"
#include "workload/plan/training_plan.h"

namespace orrery {

struct StepContext {
  const Model& model;
  const TrainingPlan& plan;
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
