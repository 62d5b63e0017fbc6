#include "run/requests/steady_state.h"

#include <algorithm>

#include "base/status.h"
#include "run/requests/batch_steps.h"

namespace orrery {

absl::StatusOr<SteadyState> RunSteadyState(const ResolvedScenario& scenario) {
  const InferencePlan& plan = *scenario.inference();
  SteadyState state;
  ASSIGN_OR_RETURN(state.batch, FullBatch(scenario));
  ASSIGN_OR_RETURN(const BatchStep decode, DecodeStep(scenario, state.batch));
  state.step_s = decode.seconds;

  const EngineProfile& engine = plan.engine();
  const int64_t data = plan.prefill().degrees.data;
  const int64_t sequences = state.batch / data;
  // Sequences that decode beside the prompts of a step. If prompts take every
  // step there are fewer of them, and more room for prompts.
  int64_t beside = engine.mixed_steps ? sequences : 0;
  int64_t together = PromptsBeside(plan, beside, sequences);
  if (engine.mixed_steps && sequences > together * plan.output()) {
    beside = std::min(sequences, together * plan.output());
    together = PromptsBeside(plan, beside, sequences);
  }
  state.prompts = together * data;
  // A long prompt takes several steps, all of them with others beside.
  ASSIGN_OR_RETURN(const BatchStep mixed_step,
                   PromptStep(scenario, state.prompts, beside * data));
  state.mixed_s = mixed_step.seconds;
  const auto batch = static_cast<double>(state.batch);
  const double output = plan.output();
  // The first token comes with the prompt.
  const double later = output - (engine.first_token_by_decode ? 0 : 1);
  // In the time in which a batch of requests comes and goes.
  const double rounds = batch / static_cast<double>(state.prompts);
  double cycle = 0;
  if (engine.mixed_steps) {
    // Steps with prompts decode too.
    const double mixed = rounds * static_cast<double>(mixed_step.passes);
    cycle =
        rounds * state.mixed_s + std::max(0.0, later - mixed) * state.step_s;
  } else {
    cycle = rounds * state.mixed_s + later * state.step_s;
  }
  state.output_tokens_per_s = batch * output / cycle;
  return state;
}

}  // namespace orrery
