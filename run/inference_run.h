#pragma once
// A static batch of requests, simulated: prefill, decode steps, and what
// follows from them.
//
//   ASSIGN_OR_RETURN(const InferenceRun run,
//                    RunInference({model, system, kernels, network}, plan,
//                    {}));
//   run.time_to_first_token, run.time_per_output_token, run.end_to_end
//
// Only attention depends on what is cached, so that a step grows slowly: it
// is simulated at a few lengths and summed over the
// output. `integration_error` bounds what the others can have changed.
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analytic/inference/inference_estimate.h"
#include "cost/kernel/kernel_timer.h"
#include "cost/ownership/step_energy.h"
#include "run/simulated_run.h"
#include "run/training_run.h"
#include "workload/plan/inference_pass.h"
#include "workload/plan/inference_plan.h"

namespace orrery {

// Simulates steps of engines; what ops take is worked out once for all.
class InferenceSimulator {
 public:
  // What `on` refers to must outlive the simulator.
  static absl::StatusOr<InferenceSimulator> Create(const TrainingGround& on,
                                                   const InferencePlan& plan);

  // The passes, one after the other.
  absl::StatusOr<SimulatedRun> Run(absl::Span<const InferencePass> passes,
                                   const RunOptions& options);
  // A step in a row of them. With a pipeline its parts are on their way
  // through the stages all the time: the longer of one part's way and of what a
  // round of all parts adds.
  // `work`, if given, gets what the chips of a step without pipeline did.
  absl::StatusOr<Duration> StepTime(const InferencePass& pass,
                                    const RunOptions& options,
                                    StepWork* work = nullptr);
  // Steps of prompts, one after the other. Through a pipeline they follow one
  // another: each adds what it ends later than the one before it.
  // `work`, if given, gets what the chips did.
  absl::StatusOr<Duration> PrefillTime(absl::Span<const InferencePass> passes,
                                       const RunOptions& options,
                                       StepWork* work = nullptr);

 private:
  InferenceSimulator(const TrainingGround& on, const InferencePlan& plan,
                     KernelTimer timer, InferenceEstimator estimator)
      : on_(on),
        plan_(&plan),
        ops_(std::make_unique<OpTimeCache>(std::move(timer))),
        estimator_(std::make_unique<InferenceEstimator>(std::move(estimator))) {
  }

  // Before anything is lowered: sums of times too long would leave their range.
  absl::Status CheckTime(absl::Span<const InferencePass> passes);

  TrainingGround on_;
  const InferencePlan* plan_;
  std::unique_ptr<OpTimeCache> ops_;
  std::unique_ptr<InferenceEstimator> estimator_;
};

struct InferenceRun {
  Duration prefill{};
  Duration time_to_first_token{};
  // Of all decode steps; and of those after the first token, the mean over
  // their tokens.
  Duration decode{};
  Duration time_per_output_token{};
  Duration end_to_end{};
  Duration first_step{};
  Duration last_step{};
  int64_t decode_steps = 0;
  int simulated_steps = 0;
  // Of the time of decoding.
  double integration_error = 0;
  // The step in the middle of the output; the prefill if there is none.
  SimulatedRun step;
  // What the chips did in the prefill, all passes.
  StepWork prefill_work = {};
};

struct InferenceOptions {
  RunOptions run = {};
  // Every decode step by itself.
  bool every_token = false;
};

// `prefill` and `decode` are where the phases run: the same, unless pools are
// separate.
absl::StatusOr<InferenceRun> RunInference(const TrainingGround& prefill,
                                          const TrainingGround& decode,
                                          const InferencePlan& plan,
                                          const InferenceOptions& options);

// The passes of a part; the prefill's if nothing is decoded. With separate
// pools a request is its prefill: decode steps run elsewhere.
std::vector<InferencePass> PassesOf(const InferencePlan& plan,
                                    InferencePart part);
// The decode steps of a request that a timeline shows: a few, or every one for
// `kWholeRequest`.
std::vector<InferencePass> DrawnDecodePasses(const InferencePlan& plan,
                                             InferencePart part);

}  // namespace orrery
