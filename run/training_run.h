#pragma once
// One optimizer step of a training plan, simulated.
//
//   ASSIGN_OR_RETURN(const SimulatedRun run,
//                    RunTraining({model, system, kernels, network}, plan, {}));
//
// Of a step with many micro-batches, time and memory are known from steps with
// few. Once a pipeline is full it repeats itself: each further round of
// micro-batches (as many as there are stages) takes as long as the last. Steps
// of three lengths are simulated; if the two differences agree to `kAgreement`,
// the rest is so many more of them. If not, or if the step is no longer than
// the three together, the whole step is simulated. Every step that is simulated
// is held to its bounds where the options ask for it.
//
// What a step holds is known when the pipeline has filled, run steadily and
// emptied once: memory alone needs the shortest of the three.
//
//   ASSIGN_OR_RETURN(const PeriodicStep step,
//                    RunPeriodically({model, system, kernels, network}, plan,
//                                    options));
#include <absl/status/statusor.h>

#include <optional>

#include "run/simulated_run.h"
#include "sim/folding/folding.h"
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

struct PeriodicStep {
  Duration time{};
  MemoryPeaks memory = {};
  // Micro-batches per rank of the longest step that was simulated.
  int simulated = 0;
  // How its ranks were folded, which is the same for all lengths.
  std::optional<FoldingVerdict> folding = std::nullopt;
};

// How far two rounds may differ, as a share of one: what is left of a step is
// wrong by no more than that.
inline constexpr double kAgreement = 1e-6;

// Its memory alone.
absl::StatusOr<MemoryPeaks> RunForMemory(const TrainingGround& on,
                                         const TrainingPlan& plan,
                                         const RunOptions& options);

absl::StatusOr<PeriodicStep> RunPeriodically(const TrainingGround& on,
                                             const TrainingPlan& plan,
                                             const RunOptions& options);

}  // namespace orrery
