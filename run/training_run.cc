#include "run/training_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "analytic/step/step_estimate.h"
#include "base/status.h"
#include "cost/kernel/kernel_timer.h"
#include "cost/kernel/kernel_work.h"
#include "run/run_scenario.h"
#include "workload/lowering/training/lower_loop.h"
#include "workload/lowering/training/lower_training.h"
#include "workload/plan/placement.h"
#include "workload/plan/slow_ranks.h"
#include "workload/plan/waited_exchanges.h"

namespace orrery {
namespace {

// No layer has as many tasks in one micro-batch, unless its products are cut
// into pieces.
constexpr int64_t kMostTasksOfLayer = 100;

RunSize RoughSize(const Model& model, const TrainingPlan& plan, bool fold,
                  const RunOptions& options) {
  const int pieces = plan.overlap_tensor() ? plan.degrees().tensor : 1;
  RunSize size = {.role_tasks = kMostTasksOfLayer * pieces * model.layers() *
                                plan.micro_batches(),
                  .recorded = options.records_all()};
  size.rank_tasks =
      size.role_tasks *
      (fold ? 1 : plan.degrees().ranks() / plan.degrees().pipeline);
  size.rank_places = size.rank_tasks;
  return size;
}

// Micro-batches after which a full pipeline does the same again.
int RoundOf(const TrainingPlan& plan) {
  const int ranks = plan.degrees().pipeline;
  const bool zero_bubble = plan.schedule() == PipelineSchedule::kZeroBubbleH1 ||
                           plan.schedule() == PipelineSchedule::kZeroBubbleV;
  return zero_bubble ? std::lcm(ranks, kZeroBubblePeriod) : ranks;
}

// Micro-batches of the shortest step: whole rounds fewer than the plan has.
int Shortest(const TrainingPlan& plan) {
  const int round = RoundOf(plan);
  return kFilledRounds * round + plan.micro_batches() % round;
}

// The slowest chip of a step evens out over its passes: all of them.
RunOptions OfPart(const TrainingPlan& plan, const RunOptions& options) {
  RunOptions part = options;
  if (!part.slowness) part.slowness = KernelSlowness(plan);
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

void Stretch(double factor, KernelWork& work) {
  if (factor == 1) return;
  KernelFacts& facts = work.facts;
  // All that is not launching, or none of it: to the picosecond.
  const bool memory_bound = facts.memory_bound > Duration(0);
  work.duration = FromSeconds(ToSeconds(work.duration) * factor);
  facts.launch =
      std::min(work.duration, FromSeconds(ToSeconds(facts.launch) * factor));
  if (memory_bound) facts.memory_bound = work.duration - facts.launch;
}

}  // namespace

absl::StatusOr<SimulatedRun> RunTraining(const TrainingGround& on,
                                         const TrainingPlan& plan,
                                         const RunOptions& options) {
  const Chip& chip = on.system.chip();
  ASSIGN_OR_RETURN(KernelTimer timer, KernelTimer::Create(chip, on.kernels));
  OpTimeCache cache(std::move(timer));
  const double slowness = options.slowness.value_or(KernelSlowness(plan));
  const auto timed_by = [&](OpTimeCache& known) {
    return [&, times = &known](const Op& op) {
      KernelWork work = ToKernelWork(op, times->Time(op), chip, on.kernels);
      Stretch(slowness, work);
      work.facts.op = times->Id(op);
      return work;
    };
  };
  const auto timed = timed_by(cache);
  PassOptions pass{.merge = !options.detail,
                   .overlap_weight_gradient = plan.overlap_weight_gradient(),
                   .waited = WaitedExchanges(plan, options.waited)};
  if (plan.overlap_tensor() && !options.waited.Has(Dimension::kTensor)) {
    pass.tensor_chunks = plan.degrees().tensor;
  }
  if (options.chip_sharing) {
    pass.exchange_share = {.compute = on.system.collectives().compute_share,
                           .memory = on.system.collectives().memory_share};
  }
  const std::vector<SlowRank> slow =
      SlowRanks(on.system, Placement(plan.layout()));
  PassProfile profile;
  if (plan.layout().stages.splits_gradients()) {
    ASSIGN_OR_RETURN(StepEstimator estimator,
                     StepEstimator::Create(on.model, on.system, on.kernels,
                                           OthersAt(options.fidelity)));
    profile = estimator.ProfileOf(plan);
  }
  const auto options_for = [&](const Fold& fold) {
    return LowerOptions{.pass = pass,
                        .fold = fold.on,
                        .marks = fold.marks,
                        .slow = slow,
                        .profile = profile};
  };
  // Nothing if it has to be written out: what is recorded is told by task.
  const auto loop =
      [&](const Fold& fold) -> absl::StatusOr<std::optional<PlacedProgram>> {
    if (options.record || !options.loops) return std::optional<PlacedProgram>();
    if (!IsLongLoop(on.model, plan)) {
      return LowerLoop(on.model, plan, timed, options_for(fold));
    }
    // Asked for the same ops in the same order, it gives them the same numbers.
    OpTimeCache twin = cache;
    const auto beside = timed_by(twin);
    return LowerLoop(on.model, plan, timed, options_for(fold), beside);
  };
  const auto lower = [&](const Fold& fold) -> absl::StatusOr<PlacedProgram> {
    ASSIGN_OR_RETURN(std::optional<PlacedProgram> looped, loop(fold));
    if (looped) return *std::move(looped);
    return LowerTraining(on.model, plan, timed, options_for(fold));
  };
  const auto forecast =
      [&](bool fold) -> absl::StatusOr<std::optional<RunSize>> {
    // Hardly any plan is worth the trouble.
    if (RoughSize(on.model, plan, fold, options).total() <= options.memory) {
      return std::nullopt;
    }
    ASSIGN_OR_RETURN(const std::optional<PlacedProgram> looped,
                     loop({.on = fold}));
    if (looped) return SizeOf(looped->program, options.records_all());
    return ForecastSize(
        plan, options.records_all(),
        [&](const TrainingPlan& sibling) -> absl::StatusOr<RunSize> {
          ASSIGN_OR_RETURN(
              const PlacedProgram placed,
              LowerTraining(on.model, sibling, timed,
                            {.pass = pass, .fold = fold, .profile = profile}));
          return SizeOf(placed.program, options.records_all());
        });
  };
  ASSIGN_OR_RETURN(SimulatedRun run,
                   RunLowered(plan.layout(), on.system, on.network, lower,
                              options, forecast));
  run.ops = cache.ops();
  return run;
}

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
  const int round = RoundOf(plan);
  const int all = plan.micro_batches();
  const int first = Shortest(plan);
  if (all <= 3 * (first + round)) return RunOne(on, plan, options);
  RunOptions part = OfPart(plan, options);
  // Their calls are the same.
  std::optional<CallPlanner> planner;
  if (part.planner == nullptr) {
    part.planner = &planner.emplace(
        on.network,
        PlannerOptions{.fidelity = options.fidelity, .one_of_alike = true});
  }
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
