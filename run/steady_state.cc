#include "run/steady_state.h"

#include <algorithm>

#include "base/format.h"
#include "base/status.h"
#include "run/inference_run.h"
#include "run/phase_ground.h"
#include "run/report.h"
#include "workload/plan/inference_memory.h"

namespace orrery {
namespace {

absl::StatusOr<ResolvedScenario> WithBatch(const ResolvedScenario& scenario,
                                           int64_t batch) {
  pb::Scenario proto = scenario.proto;
  proto.mutable_inference()->set_batch(static_cast<int32_t>(batch));
  return MakeScenario(std::move(proto));
}

}  // namespace

absl::StatusOr<SteadyState> RunSteadyState(const ResolvedScenario& scenario) {
  const InferencePlan& plan = *scenario.inference();
  const CacheCapacity capacity =
      CapacityOf(scenario.model, plan, MemoryCapacity(scenario.system),
                 scenario.kernels.reserved_memory());
  if (capacity.largest_batch == 0) {
    return absl::InvalidArgumentError(
        fmt::format("not one request of {} + {} tokens fits", plan.prompt(),
                    plan.output()));
  }
  SteadyState state;
  state.batch = capacity.largest_batch;
  ASSIGN_OR_RETURN(const ResolvedScenario full,
                   WithBatch(scenario, state.batch));
  ASSIGN_OR_RETURN(const PhaseGrounds grounds, PhaseGrounds::Make(full));
  const InferencePlan& decode = *full.inference();
  ASSIGN_OR_RETURN(
      InferenceSimulator steps,
      InferenceSimulator::Create(grounds.of(PassPurpose::kDecode), decode));
  ASSIGN_OR_RETURN(
      const Duration step,
      steps.StepTime(DecodePass(decode, plan.prompt() + plan.output() / 2),
                     {}));
  state.step_s = ToSeconds(step);

  const int data = plan.prefill().degrees.data;
  const int64_t together = std::min<int64_t>(
      state.batch / data,
      std::max(1, plan.engine().max_step_tokens / plan.prompt()));
  ASSIGN_OR_RETURN(const ResolvedScenario prompts,
                   WithBatch(scenario, together * data));
  const InferencePlan& prefill = *prompts.inference();
  ASSIGN_OR_RETURN(
      InferenceSimulator passes,
      InferenceSimulator::Create(grounds.of(PassPurpose::kPrefill), prefill));
  double prefill_s = 0;
  for (const InferencePass& pass : PrefillPasses(prefill)) {
    ASSIGN_OR_RETURN(const Duration time, passes.StepTime(pass, {}));
    prefill_s += ToSeconds(time);
  }
  state.prompt_s = prefill_s / static_cast<double>(together * data);
  const auto batch = static_cast<double>(state.batch);
  // While a full batch decodes all its output, a batch of prompts comes in.
  const double cycle = state.step_s * plan.output() + state.prompt_s * batch;
  state.output_tokens_per_s = batch * plan.output() / cycle;
  return state;
}

}  // namespace orrery
