#include "run/inference_run.h"

#include <algorithm>
#include <utility>

#include "analytic/inference/inference_estimate.h"
#include "base/status.h"
#include "cost/kernel/kernel_work.h"
#include "run/scenario_cost.h"
#include "run/step_integral.h"
#include "run/time_range.h"
#include "workload/lowering/inference/lower_inference.h"
#include "workload/plan/placement.h"
#include "workload/plan/slow_ranks.h"

namespace orrery {
namespace {

// Of the time of decoding, that leaving out steps may change.
constexpr double kPrecision = 1e-3;
// Decode steps that a timeline shows unless all are asked for.
constexpr int64_t kShownSteps = 4;

// Half of what simulated time can hold, for each of two phases.
constexpr double kLongest = 4e6;

absl::Status TooLong() {
  return absl::InvalidArgumentError(
      "the request takes more than 46 days, longer than can be simulated; "
      "shorten inference.prompt or inference.output");
}

}  // namespace

absl::StatusOr<InferenceSimulator> InferenceSimulator::Create(
    const TrainingGround& on, const InferencePlan& plan) {
  ASSIGN_OR_RETURN(KernelTimer timer,
                   KernelTimer::Create(on.system.chip(), on.kernels));
  ASSIGN_OR_RETURN(InferenceEstimator estimator,
                   InferenceEstimator::Create(on.model, on.system, on.kernels,
                                              Others::kNone));
  return InferenceSimulator(on, plan, std::move(timer), std::move(estimator));
}

absl::StatusOr<SimulatedRun> InferenceSimulator::Run(
    absl::Span<const InferencePass> passes, const RunOptions& options) {
  RETURN_IF_ERROR(CheckTime(passes));
  const Chip& chip = on_.system.chip();
  const auto timed = [&](const Op& op) {
    KernelWork work = ToKernelWork(op, ops_->Time(op), chip, on_.kernels);
    work.facts.op = ops_->Id(op);
    return work;
  };
  // Every kernel is a task: the host starts them one by one.
  LowerInferenceOptions lowering{
      .pass = {.merge = false, .waited = options.waited},
      .slow =
          SlowRanks(on_.system, Placement(plan_->layout(passes[0].purpose))),
      .reserved = on_.kernels.reserved_memory()};
  if (options.chip_sharing) {
    lowering.pass.exchange_share = {
        .compute = on_.system.collectives().compute_share,
        .memory = on_.system.collectives().memory_share};
  }
  const auto lower = [&](const Fold& fold) {
    lowering.fold = fold.on;
    lowering.marks = fold.marks;
    return LowerInference(on_.model, *plan_, passes, timed, lowering);
  };
  ASSIGN_OR_RETURN(SimulatedRun run,
                   RunLowered(plan_->layout(passes[0].purpose), on_.system,
                              on_.network, lower, options));
  run.ops = ops_->ops();
  return run;
}

absl::Status InferenceSimulator::CheckTime(
    absl::Span<const InferencePass> passes) {
  StepEstimate sum;
  for (const InferencePass& pass : passes) {
    sum += estimator_->Step(*plan_, pass, {.waited = DimensionSet::All()});
  }
  return CheckTimeRange(sum);
}

absl::StatusOr<Duration> InferenceSimulator::StepTime(const InferencePass& pass,
                                                      const RunOptions& options,
                                                      StepWork* work) {
  const auto time = [&](const std::vector<InferencePass>& passes)
      -> absl::StatusOr<Duration> {
    ASSIGN_OR_RETURN(const SimulatedRun run, Run(passes, options));
    if (work != nullptr) *work = WorkOf(run);
    return run.result.end - Time{};
  };
  if (plan_->layout(pass.purpose).degrees.pipeline == 1 ||
      pass.purpose != PassPurpose::kDecode) {
    return time({pass});
  }
  InferencePass one = pass;
  one.sequences /= one.parts;
  one.parts = 1;
  // Parts of other rounds follow: what the host does meanwhile is not at the
  // end of either, and takes its time by itself.
  InferencePass once = pass;
  once.ends_step = false;
  InferencePass twice = once;
  twice.parts *= 2;
  ASSIGN_OR_RETURN(const Duration way, time({one}));
  ASSIGN_OR_RETURN(const Duration round, time({once}));
  ASSIGN_OR_RETURN(const Duration rounds, time({twice}));
  return std::max(
      {way, rounds - round, plan_->engine().Between(pass.sequences)});
}

absl::StatusOr<Duration> InferenceSimulator::PrefillTime(
    absl::Span<const InferencePass> passes, const RunOptions& options,
    StepWork* work) {
  // Prompts that come one after the other do the same.
  struct Known {
    const InferencePass* before;
    const InferencePass* pass;
    StepWork work;
  };
  const auto same = [](const InferencePass* a, const InferencePass* b) {
    return a == b || (a != nullptr && b != nullptr && *a == *b);
  };
  const bool piped = plan_->layout(passes[0].purpose).degrees.pipeline > 1;
  std::vector<Known> known;
  StepWork sum;
  for (size_t i = 0; i < passes.size(); ++i) {
    const InferencePass* before = piped && i > 0 ? &passes[i - 1] : nullptr;
    auto seen = std::find_if(known.begin(), known.end(), [&](const auto& each) {
      return same(each.before, before) && same(each.pass, &passes[i]);
    });
    if (seen == known.end()) {
      StepWork one;
      RETURN_IF_ERROR(StepTime(passes[i], options, &one).status());
      if (before != nullptr) {
        ASSIGN_OR_RETURN(const Duration alone, StepTime(*before, options));
        ASSIGN_OR_RETURN(const SimulatedRun both,
                         Run({*before, passes[i]}, options));
        one.time = both.result.end - Time{} - alone;
      }
      seen = known.insert(known.end(), {before, &passes[i], one});
    }
    if (ToSeconds(sum.time) + ToSeconds(seen->work.time) > kLongest) {
      return TooLong();
    }
    sum += seen->work;
  }
  if (work != nullptr) *work = sum;
  return sum.time;
}

std::vector<InferencePass> PassesOf(const InferencePlan& plan,
                                    InferencePart part) {
  const int64_t steps = DecodeSteps(plan);
  if (part == InferencePart::kDecodeStep && steps > 0) {
    return {DecodePass(plan, CachedInStep(plan, (steps - 1) / 2))};
  }
  std::vector<InferencePass> passes = PrefillPasses(plan);
  const bool request =
      part == InferencePart::kRequest || part == InferencePart::kWholeRequest;
  if (request && !plan.disaggregated()) {
    const std::vector<InferencePass> drawn = DrawnDecodePasses(plan, part);
    passes.insert(passes.end(), drawn.begin(), drawn.end());
  }
  return passes;
}

std::vector<InferencePass> DrawnDecodePasses(const InferencePlan& plan,
                                             InferencePart part) {
  const int64_t steps = DecodeSteps(plan);
  const int64_t drawn = part == InferencePart::kWholeRequest
                            ? steps
                            : std::min(steps, kShownSteps);
  std::vector<InferencePass> passes;
  for (int64_t i = 0; i < drawn; ++i) {
    passes.push_back(DecodePass(plan, CachedInStep(plan, i)));
  }
  return passes;
}

absl::StatusOr<InferenceRun> RunInference(const TrainingGround& prefill,
                                          const TrainingGround& decode,
                                          const InferencePlan& plan,
                                          const InferenceOptions& options) {
  const RunOptions& how = options.run;
  ASSIGN_OR_RETURN(InferenceSimulator prompts,
                   InferenceSimulator::Create(prefill, plan));
  ASSIGN_OR_RETURN(InferenceSimulator steps,
                   InferenceSimulator::Create(decode, plan));
  StepWork prefill_work;
  ASSIGN_OR_RETURN(
      Duration prefill_time,
      prompts.PrefillTime(PrefillPasses(plan), how, &prefill_work));
  prefill_time += plan.engine().request_overhead;
  const int64_t count = DecodeSteps(plan);
  // The middle step first, with everything that is asked of it.
  ASSIGN_OR_RETURN(SimulatedRun middle,
                   (count > 0 ? steps : prompts)
                       .Run(PassesOf(plan, InferencePart::kDecodeStep), how));
  InferenceRun run{.step = std::move(middle)};
  run.prefill_work = prefill_work;
  run.prefill = prefill_time;
  run.time_to_first_token = prefill_time;
  run.decode_steps = count;
  if (count == 0) {
    run.end_to_end = prefill_time;
    return run;
  }
  RunOptions quiet = how;
  quiet.record = false;
  quiet.progress = {};
  const double drafts = plan.speculation() ? plan.speculation()->drafts *
                                                 plan.speculation()->draft_cost
                                           : 0;
  int64_t done = 0;
  const auto at = [&](int64_t step) -> absl::StatusOr<double> {
    if (how.progress) {
      how.progress("simulating decode steps",
                   std::min(1.0, static_cast<double>(done++) /
                                     static_cast<double>(count)));
    }
    ASSIGN_OR_RETURN(
        const Duration time,
        steps.StepTime(DecodePass(plan, CachedInStep(plan, step)), quiet));
    return ToSeconds(time) * (1 + drafts);
  };
  // Which exchange of a half meets which kernel of the other changes with the
  // length of the cache.
  ASSIGN_OR_RETURN(const StepIntegral sum,
                   options.every_token
                       ? SumEveryStep(count, at)
                       : SumOverSteps(count, kPrecision, at,
                                      plan.overlap_halves() ? Growth::kNearly
                                                            : Growth::kAlways));
  if (sum.sum > kLongest) return TooLong();
  run.decode = FromSeconds(sum.sum);
  run.end_to_end = run.prefill + run.decode;
  run.first_step = FromSeconds(sum.first);
  double later = sum.sum;
  if (plan.engine().first_token_by_decode) {
    run.time_to_first_token += run.first_step;
    later -= sum.first;
  }
  if (plan.output() > 1) {
    run.time_per_output_token =
        FromSeconds(later / static_cast<double>(plan.output() - 1));
  }
  run.last_step = FromSeconds(sum.last);
  run.simulated_steps = sum.evaluations;
  run.integration_error = sum.error / sum.sum;
  return run;
}

}  // namespace orrery
