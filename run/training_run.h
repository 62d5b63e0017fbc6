#pragma once
// One optimizer step of a training plan, simulated.
//
//   ASSIGN_OR_RETURN(const SimulatedRun run,
//                    RunTraining(model, system, kernels, plan, {}));
#include <absl/status/statusor.h>

#include "run/simulated_run.h"
#include "topology/machine/kernels.h"
#include "topology/machine/system.h"
#include "workload/model/model.h"
#include "workload/plan/training_plan.h"

namespace orrery {

absl::StatusOr<SimulatedRun> RunTraining(const Model& model,
                                         const System& system,
                                         const Kernels& kernels,
                                         const TrainingPlan& plan,
                                         const RunOptions& options);

}  // namespace orrery
