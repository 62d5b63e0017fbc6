#include "run/training_run.h"

#include <utility>

#include "base/status.h"
#include "cost/kernel/kernel_timer.h"
#include "cost/kernel/kernel_work.h"
#include "workload/lowering/training/lower_training.h"

namespace orrery {

absl::StatusOr<SimulatedRun> RunTraining(const TrainingGround& on,
                                         const TrainingPlan& plan,
                                         const RunOptions& options) {
  const Chip& chip = on.system.chip();
  ASSIGN_OR_RETURN(KernelTimer timer, KernelTimer::Create(chip, on.kernels));
  OpTimeCache cache(std::move(timer));
  const auto timed = [&](const Op& op) {
    KernelWork work = ToKernelWork(op, cache.Time(op), chip, on.kernels);
    work.facts.op = cache.Id(op);
    return work;
  };
  PassOptions pass{.merge = !options.detail,
                   .overlap_weight_gradient = plan.overlap_weight_gradient(),
                   .waited = options.waited};
  if (plan.overlap_tensor() && !options.waited.Has(Dimension::kTensor)) {
    pass.tensor_chunks = plan.degrees().tensor;
  }
  if (options.chip_sharing) {
    pass.exchange_share = {.compute = on.system.collectives().compute_share,
                           .memory = on.system.collectives().memory_share};
  }
  const auto lower = [&](bool fold) {
    return LowerTraining(on.model, plan, timed, {.pass = pass, .fold = fold});
  };
  ASSIGN_OR_RETURN(SimulatedRun run, RunLowered(plan.layout(), on.system,
                                                on.network, lower, options));
  run.ops = cache.ops();
  return run;
}

}  // namespace orrery
