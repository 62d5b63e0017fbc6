#include "accuracy/inference/trtllm_bench.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "run/requests/batch_steps.h"

namespace orrery {
namespace {

constexpr int64_t kMostSequences = 4096;
constexpr int64_t kMostTokens = 32768;
constexpr int64_t kLeastSequences = 64;
constexpr int64_t kLeastTokens = 2048;

int64_t RoundedUp(int64_t value, int64_t step) {
  return (value + step - 1) / step * step;
}

absl::StatusOr<ResolvedScenario> WithSizes(const ResolvedScenario& scenario,
                                           const StepSizes& sizes) {
  pb::Scenario proto = scenario.proto;
  pb::Engine& engine = *proto.mutable_inference()->mutable_engine();
  engine.set_max_batch(static_cast<int32_t>(sizes.batch));
  engine.set_max_step_tokens(static_cast<int32_t>(sizes.tokens));
  return MakeScenario(std::move(proto));
}

}  // namespace

StepSizes TrtllmBenchSizes(int64_t fit, int64_t prompt, int64_t output,
                           int64_t pipeline) {
  const int64_t batch = std::min(fit, kMostSequences) / pipeline;
  const int64_t tokens = std::min(batch + batch * prompt / output, kMostTokens);
  StepSizes sizes;
  sizes.batch = batch < 256 ? std::max(kLeastSequences, RoundedUp(batch, 32))
                            : RoundedUp(batch, batch < 1024 ? 128 : 256);
  sizes.tokens = tokens < 4096 ? std::max(kLeastTokens, RoundedUp(tokens, 256))
                               : RoundedUp(tokens, tokens < 8192 ? 512 : 1024);
  sizes.tokens = std::max(sizes.tokens, prompt + sizes.batch);
  return sizes;
}

absl::StatusOr<ResolvedScenario> RunByTrtllmBench(
    const ResolvedScenario& scenario) {
  ASSIGN_OR_RETURN(const ResolvedScenario roomy,
                   WithSizes(scenario, {kMostSequences, kLeastTokens}));
  ASSIGN_OR_RETURN(const int64_t fit, FullBatch(roomy));
  const InferencePlan& plan = *scenario.inference();
  return WithSizes(scenario, TrtllmBenchSizes(fit, plan.prompt(), plan.output(),
                                              plan.prefill().degrees.pipeline));
}

}  // namespace orrery
