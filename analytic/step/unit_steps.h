#pragma once
// What a pass of a unit (embedding, layer, head) runs, in order.
#include <cstdint>
#include <vector>

#include "workload/model/layer.h"
#include "workload/plan/schedule.h"

namespace orrery {

// `again`: what of its forward pass is computed again before gradients are.
// Input and weight gradients of one pass take turns, module by module.
std::vector<const LayerStep*> StepsOf(const LayerOps& ops,
                                      const std::vector<LayerStep>& again,
                                      PipelinePass pass);
// Kernels and calls that the host starts for it.
int64_t CountLaunches(const LayerOps& ops, const std::vector<LayerStep>& again,
                      PipelinePass pass);

}  // namespace orrery
