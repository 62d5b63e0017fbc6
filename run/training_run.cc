#include "run/training_run.h"

#include "base/status.h"
#include "cost/kernel/kernel_timer.h"
#include "cost/kernel/kernel_work.h"
#include "workload/lowering/training/lower_training.h"

namespace orrery {

absl::StatusOr<SimulatedRun> RunTraining(const Model& model,
                                         const System& system,
                                         const Kernels& kernels,
                                         const TrainingPlan& plan,
                                         const RunOptions& options) {
  const Chip& chip = system.chip();
  ASSIGN_OR_RETURN(const KernelTimer timer, KernelTimer::Create(chip, kernels));
  OpTimeCache cache(timer);
  const auto timed = [&](const Op& op) {
    KernelWork work = ToKernelWork(cache.Time(op), chip, kernels);
    work.facts.op = cache.Id(op);
    return work;
  };
  PassOptions pass{.merge = !options.detail,
                   .overlap_weight_gradient = plan.overlap_weight_gradient(),
                   .serial = options.serial};
  if (plan.overlap_tensor()) pass.tensor_chunks = plan.degrees().tensor;
  if (!options.serial) {
    pass.exchange_share = {.compute = system.collectives().compute_share,
                           .memory = system.collectives().memory_share};
  }
  const auto lower = [&](bool fold) {
    return LowerTraining(model, plan, timed, {.pass = pass, .fold = fold});
  };
  ASSIGN_OR_RETURN(SimulatedRun run,
                   RunLowered(plan.layout(), system, lower, options));
  run.ops = cache.ops();
  return run;
}

}  // namespace orrery
