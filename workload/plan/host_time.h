#pragma once
// What the host takes to start what a plan runs.
//
// Each kernel and each collective takes the framework's `dispatch`. Where its
// software compares calls before they are made (TORCH_DISTRIBUTED_DEBUG=DETAIL
// of PyTorch: every collective is preceded by a barrier and two gathers among
// the hosts of its group, rank after rank), a collective also takes
// `collective_check` for each rank of its group. Sends and receives are not
// compared.
//
//   LaunchTime(ops.forward, plan)                    // zero without `dispatch`
//   CheckTime(plan.framework(), 64)                  // of a group of 64
#include <vector>

#include "base/units.h"
#include "workload/model/layer.h"
#include "workload/plan/framework.h"
#include "workload/plan/training_plan.h"

namespace orrery {

Duration LaunchTime(const std::vector<LayerStep>& steps,
                    const TrainingPlan& plan);

// Before a collective of so many ranks; nothing for one alone.
Duration CheckTime(const Framework& framework, int ranks);

}  // namespace orrery
