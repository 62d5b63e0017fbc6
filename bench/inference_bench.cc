// Inference: a decode step on paper and simulated, and a whole request.
#include <benchmark/benchmark.h>

#include "analytic/inference/inference_estimate.h"
#include "base/check.h"
#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/inference_run.h"
#include "run/phase_ground.h"
#include "run/scenario.h"

namespace orrery {
namespace {

ResolvedScenario Load(const char* name, const std::vector<std::string>& sets) {
  auto proto = ResolveScenario(Catalog(), name, sets);
  CHECK(proto.ok()) << proto.status().ToString();
  auto scenario = MakeScenario(*std::move(proto));
  CHECK(scenario.ok()) << scenario.status().ToString();
  return *std::move(scenario);
}

void BM_EstimateDecodeStep(benchmark::State& state, const char* name) {
  const ResolvedScenario s = Load(name, {});
  auto estimator = InferenceEstimator::Create(s.model, s.system, s.kernels);
  CHECK(estimator.ok());
  const InferencePass pass = DecodePass(*s.inference(), 1000);
  for (auto _ : state) {
    benchmark::DoNotOptimize(estimator->Step(*s.inference(), pass).step_s());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(BM_EstimateDecodeStep, llama2_70b, "llama2_70b_inference");
BENCHMARK_CAPTURE(BM_EstimateDecodeStep, llama3_70b, "llama3_70b_fp8_serving");
BENCHMARK_CAPTURE(BM_EstimateDecodeStep, deepseek_v3, "deepseek_v3_pools");

void BM_DecodeStep(benchmark::State& state, const char* name) {
  const ResolvedScenario s = Load(name, {});
  auto grounds = PhaseGrounds::Make(s);
  CHECK(grounds.ok());
  auto simulator = InferenceSimulator::Create(grounds->of(PassPurpose::kDecode),
                                              *s.inference());
  CHECK(simulator.ok());
  const InferencePass pass = DecodePass(*s.inference(), 4096);
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulator->StepTime(pass, {}));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(BM_DecodeStep, llama3_70b, "llama3_70b_fp8_serving")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_DecodeStep, deepseek_v3, "deepseek_v3_pools")
    ->Unit(benchmark::kMillisecond);

void BM_Request(benchmark::State& state) {
  const ResolvedScenario s =
      Load("llama3_70b_fp8_serving", {"inference.output=2000"});
  auto grounds = PhaseGrounds::Make(s);
  CHECK(grounds.ok());
  for (auto _ : state) {
    auto run =
        RunInference(grounds->of(PassPurpose::kPrefill),
                     grounds->of(PassPurpose::kDecode), *s.inference(), {});
    CHECK(run.ok());
    state.counters["steps"] = run->simulated_steps;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Request)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery
