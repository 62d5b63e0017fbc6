#include "run/requests/steady_state.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/status.h"
#include "run/inference_run.h"
#include "run/phase_ground.h"
#include "run/report.h"
#include "workload/plan/inference_memory.h"

namespace orrery {
namespace {

absl::StatusOr<ResolvedScenario> WithBatch(const ResolvedScenario& scenario,
                                           int64_t batch, int64_t beside) {
  pb::Scenario proto = scenario.proto;
  pb::Inference& inference = *proto.mutable_inference();
  inference.set_batch(static_cast<int32_t>(batch));
  if (beside > 0) {
    inference.set_decode_beside(static_cast<int32_t>(beside));
  } else {
    inference.clear_decode_beside();
  }
  return MakeScenario(std::move(proto));
}

absl::StatusOr<double> StepSeconds(const ResolvedScenario& scenario,
                                   const std::vector<InferencePass>& passes) {
  ASSIGN_OR_RETURN(const PhaseGrounds grounds, PhaseGrounds::Make(scenario));
  ASSIGN_OR_RETURN(InferenceSimulator steps,
                   InferenceSimulator::Create(grounds.of(passes[0].purpose),
                                              *scenario.inference()));
  ASSIGN_OR_RETURN(const Duration time,
                   passes[0].purpose == PassPurpose::kDecode
                       ? steps.StepTime(passes[0], {})
                       : steps.PrefillTime(passes, {}));
  return ToSeconds(time);
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
                   WithBatch(scenario, state.batch, 0));
  ASSIGN_OR_RETURN(
      state.step_s,
      StepSeconds(full, {DecodePass(*full.inference(),
                                    plan.prompt() + plan.output() / 2)}));

  const EngineProfile& engine = plan.engine();
  const int64_t data = plan.prefill().degrees.data;
  const int64_t sequences = state.batch / data;
  // Sequences that decode beside the prompts of a step. If prompts take every
  // step there are fewer of them, and more room for prompts.
  int64_t beside = engine.mixed_steps ? sequences : 0;
  const auto prompts_of = [&](int64_t decoding) {
    return std::clamp<int64_t>(
        (engine.max_step_tokens - decoding) / plan.prompt(), 1, sequences);
  };
  int64_t together = prompts_of(beside);
  if (engine.mixed_steps && sequences > together * plan.output()) {
    beside = std::min(sequences, together * plan.output());
    together = prompts_of(beside);
  }
  state.prompts = together * data;
  ASSIGN_OR_RETURN(const ResolvedScenario prompts,
                   WithBatch(scenario, state.prompts, beside * data));
  // A long prompt takes several steps, all of them with others beside.
  const std::vector<InferencePass> passes = PrefillPasses(*prompts.inference());
  ASSIGN_OR_RETURN(state.mixed_s, StepSeconds(prompts, passes));
  const auto batch = static_cast<double>(state.batch);
  const double output = plan.output();
  // The first token comes with the prompt.
  const double later = output - (engine.first_token_by_decode ? 0 : 1);
  // In the time in which a batch of requests comes and goes.
  const double rounds = batch / static_cast<double>(state.prompts);
  double cycle = 0;
  if (engine.mixed_steps) {
    // Steps with prompts decode too.
    const double mixed = rounds * static_cast<double>(passes.size());
    cycle =
        rounds * state.mixed_s + std::max(0.0, later - mixed) * state.step_s;
  } else {
    cycle = rounds * state.mixed_s + later * state.step_s;
  }
  state.output_tokens_per_s = batch * output / cycle;
  return state;
}

}  // namespace orrery
