#include "accuracy/training/periodic_step.h"

#include <cmath>
#include <utility>

#include "base/status.h"

namespace orrery {
namespace {

// Rounds until a pipeline repeats itself: one to fill it, one in which what the
// first did still shows, and one to empty it.
constexpr int kFilled = 3;

// Micro-batches of the shortest step: whole rounds fewer than the plan has.
int Shortest(const TrainingPlan& plan) {
  const int round = plan.degrees().pipeline;
  return kFilled * round + plan.micro_batches() % round;
}

// The slowest chip of a step evens out over its passes: all of them.
RunOptions OfPart(const TrainingPlan& plan, const RunOptions& options) {
  RunOptions part = options;
  part.slowness = KernelSlowness(plan);
  return part;
}

absl::StatusOr<PeriodicStep> RunOne(const TrainingGround& on,
                                    const TrainingPlan& plan,
                                    const RunOptions& options) {
  ASSIGN_OR_RETURN(SimulatedRun run, RunTraining(on, plan, options));
  return PeriodicStep{.time = run.result.end.time_since_epoch(),
                      .memory = std::move(run.memory),
                      .simulated = plan.micro_batches(),
                      .folding = std::move(run.folding)};
}

}  // namespace

absl::StatusOr<MemoryPeaks> RunForMemory(const TrainingGround& on,
                                         const TrainingPlan& plan,
                                         const RunOptions& options) {
  const int first = Shortest(plan);
  if (plan.micro_batches() <= first) {
    ASSIGN_OR_RETURN(PeriodicStep step, RunOne(on, plan, options));
    return std::move(step.memory);
  }
  ASSIGN_OR_RETURN(PeriodicStep step, RunOne(on, plan.WithMicroBatches(first),
                                             OfPart(plan, options)));
  return std::move(step.memory);
}

absl::StatusOr<PeriodicStep> RunPeriodically(const TrainingGround& on,
                                             const TrainingPlan& plan,
                                             const RunOptions& options) {
  const int round = plan.degrees().pipeline;
  const int all = plan.micro_batches();
  const int first = Shortest(plan);
  if (all <= 3 * (first + round)) return RunOne(on, plan, options);
  RunOptions part = OfPart(plan, options);
  PeriodicStep steps[3];
  for (int i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(
        steps[i], RunOne(on, plan.WithMicroBatches(first + i * round), part));
    part.folding = steps[i].folding;
  }
  const double before = ToSeconds(steps[1].time - steps[0].time);
  const double last = ToSeconds(steps[2].time - steps[1].time);
  const bool steady = std::abs(last - before) <= kAgreement * last &&
                      steps[1].memory.peak.total == steps[2].memory.peak.total;
  if (!steady) return RunOne(on, plan, options);
  steps[2].time +=
      (steps[2].time - steps[1].time) * ((all - steps[2].simulated) / round);
  return std::move(steps[2]);
}

}  // namespace orrery
