#pragma once
// What a pass of a unit (embedding, layer, head) runs, in order.
#include <vector>

#include "base/units.h"
#include "workload/model/layer.h"
#include "workload/plan/schedule.h"
#include "workload/plan/training_plan.h"

namespace orrery {

// `again`: what of its forward pass is computed again before gradients are.
// Input and weight gradients of one pass take turns, module by module.
std::vector<const LayerStep*> StepsOf(const LayerOps& ops,
                                      const std::vector<LayerStep>& again,
                                      PipelinePass pass);
// What the host takes to start it.
Duration LaunchTime(const LayerOps& ops, const std::vector<LayerStep>& again,
                    PipelinePass pass, const TrainingPlan& plan);

}  // namespace orrery
