#include "run/requests/batch_steps.h"

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

absl::StatusOr<BatchStep> Run(const ResolvedScenario& scenario,
                              const std::vector<InferencePass>& passes) {
  ASSIGN_OR_RETURN(const PhaseGrounds grounds, PhaseGrounds::Make(scenario));
  ASSIGN_OR_RETURN(InferenceSimulator steps,
                   InferenceSimulator::Create(grounds.of(passes[0].purpose),
                                              *scenario.inference()));
  ASSIGN_OR_RETURN(const Duration time,
                   passes[0].purpose == PassPurpose::kDecode
                       ? steps.StepTime(passes[0], {})
                       : steps.PrefillTime(passes, {}));
  return BatchStep{.seconds = ToSeconds(time),
                   .passes = static_cast<int64_t>(passes.size())};
}

}  // namespace

absl::StatusOr<BatchStep> DecodeStep(const ResolvedScenario& scenario,
                                     int64_t sequences) {
  ASSIGN_OR_RETURN(const ResolvedScenario full,
                   WithBatch(scenario, sequences, 0));
  const InferencePlan& plan = *full.inference();
  return Run(full, {DecodePass(plan, plan.prompt() + plan.output() / 2)});
}

absl::StatusOr<BatchStep> PromptStep(const ResolvedScenario& scenario,
                                     int64_t prompts, int64_t beside) {
  ASSIGN_OR_RETURN(const ResolvedScenario taken,
                   WithBatch(scenario, prompts, beside));
  return Run(taken, PrefillPasses(*taken.inference()));
}

absl::StatusOr<int64_t> FullBatch(const ResolvedScenario& scenario) {
  const InferencePlan& plan = *scenario.inference();
  const CacheCapacity capacity =
      CapacityOf(scenario.model, plan, MemoryCapacity(scenario.system),
                 scenario.kernels.reserved_memory());
  if (capacity.largest_batch == 0) {
    return absl::InvalidArgumentError(
        fmt::format("not one request of {} + {} tokens fits", plan.prompt(),
                    plan.output()));
  }
  return capacity.largest_batch;
}

int64_t PromptsBeside(const InferencePlan& plan, int64_t decoding,
                      int64_t most) {
  return std::clamp<int64_t>(
      (plan.engine().max_step_tokens - decoding) / plan.prompt(), 1, most);
}

}  // namespace orrery
