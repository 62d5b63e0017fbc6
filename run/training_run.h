#pragma once
// One optimizer step of a training plan, simulated.
//
//   ASSIGN_OR_RETURN(const SimulatedRun run,
//                    RunTraining({model, system, kernels, network}, plan, {}));
#include <absl/status/statusor.h>

#include "run/simulated_run.h"
#include "sim/network/network.h"
#include "topology/machine/kernels.h"
#include "topology/machine/system.h"
#include "workload/model/model.h"
#include "workload/plan/training_plan.h"

namespace orrery {

// What plans are tried on; the network is the system's, built once for all.
struct TrainingGround {
  const Model& model;
  const System& system;
  const Kernels& kernels;
  const Network& network;
};

absl::StatusOr<SimulatedRun> RunTraining(const TrainingGround& on,
                                         const TrainingPlan& plan,
                                         const RunOptions& options);

}  // namespace orrery
