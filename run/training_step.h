#pragma once
// A training step, simulated: from model, machine and plan to what happened.
//
//   ASSIGN_OR_RETURN(const TrainingRun run,
//                    RunTrainingStep(model, system, plan, {}));
//   run.result.end                 // the step time
//   run.breakdown.total()          // the same, by cause
//
// Every run carries its bounds (see step_bounds.h); the caller must say if it
// is outside.
#include <absl/status/statusor.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/kernel/kernel_timer.h"
#include "sim/analysis/step_bounds.h"
#include "sim/analysis/step_breakdown.h"
#include "sim/engine/run_result.h"
#include "sim/network/collective_plan.h"
#include "sim/sharing/transfer_plan.h"
#include "topology/machine/system.h"
#include "traces/format/span.h"
#include "workload/lowering/lower.h"
#include "workload/model/model.h"
#include "workload/plan/training_plan.h"

namespace orrery {

struct TrainingOptions {
  Fidelity fidelity = Fidelity::kFluid;
  Arbitration arbitration = Arbitration::kFlowFair;
  // Ranks that do the same are simulated as one, where that changes nothing; or
  // also where it is near (TrafficAsymmetry).
  bool fold = true;
  bool fold_nearly = false;
  // Every kernel is a task of its own. Without it, kernels that have no
  // communication between them run as one: fewer tasks, and a step time that
  // differs a little where communication beside them slows kernels down.
  bool detail = true;
  // Keep every span, and what was granted to every transfer.
  bool record = false;
  // Kernels and communication of a pass wait for each other, and communication
  // takes nothing from the chip: for comparison with closed forms.
  bool serial = false;
  // If given, is told now and then what is being done and how much of it is.
  std::function<void(std::string_view stage, double done)> progress = {};
};

// Memory of the rank that needs most.
struct StepMemory {
  MemoryPeak peak;
  int32_t rank = 0;  // the user's number
  int pipeline = 0;
  // Of each pipeline rank, first to last, the largest.
  std::vector<MemoryPeak> stages = {};
};

struct TrainingRun {
  LoweredStep step;
  Transfers transfers;
  RunResult result;
  // Of one rank of the pipeline rank with most work.
  StepBreakdown breakdown = {};
  int representative = 0;  // role
  // Why every rank was simulated although folding was asked for.
  std::string asymmetry = {};
  StepBounds bounds = {};
  StepMemory memory = {};
  // Arithmetic of all ranks, and of it what was computed again.
  Flops executed{};
  Flops recomputed{};
  // If asked for.
  std::vector<TaskSpan> spans = {};
  TransferLog log = {};
  // What the facts of kernels refer to.
  IdVector<OpId, Op> ops = {};
};

absl::StatusOr<TrainingRun> RunTrainingStep(const Model& model,
                                            const System& system,
                                            const TrainingPlan& plan,
                                            const TrainingOptions& options);

}  // namespace orrery
