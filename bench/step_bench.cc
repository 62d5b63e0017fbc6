// One training step: lowering, simulation folded and not, and the closed form.
#include <benchmark/benchmark.h>

#include "analytic/step_estimate.h"
#include "base/check.h"
#include "catalog/resolve.h"
#include "cli/scenario.h"
#include "sim/training_step.h"

namespace orrery {
namespace {

ResolvedScenario Load(const std::string& name,
                      const std::vector<std::string>& sets) {
  auto proto = ResolveScenario(Catalog(), name, sets);
  CHECK(proto.ok()) << proto.status().ToString();
  auto scenario = MakeScenario(*std::move(proto));
  CHECK(scenario.ok()) << scenario.status().ToString();
  return *std::move(scenario);
}

void RunSteps(benchmark::State& state, const ResolvedScenario& s, bool fold) {
  int64_t tasks = 0;
  for (auto _ : state) {
    auto run = RunTrainingStep(s.model, s.system, *s.training,
                               {.fold = fold, .detail = false});
    CHECK(run.ok()) << run.status().ToString();
    tasks += run->result.tasks;
  }
  state.SetItemsProcessed(tasks);
}

// GPT-1T on 3 072 A100 as published (SC'21): TP 8, PP 64, DP 6.
void BM_Gpt1TFolded(benchmark::State& state) {
  RunSteps(state,
           Load("megatron_1t_full",
                {"system.nodes=384", "training.global_batch=3072",
                 "training.parallel.data=6"}),
           true);
}
BENCHMARK(BM_Gpt1TFolded)->Unit(benchmark::kMillisecond)->Iterations(1);

void BM_Llama405BFolded(benchmark::State& state) {
  RunSteps(state, Load("llama3_405b_16k", {}), true);
}
BENCHMARK(BM_Llama405BFolded)->Unit(benchmark::kMillisecond)->Iterations(1);

void BM_Llama405BUnfolded(benchmark::State& state) {
  RunSteps(state, Load("llama3_405b_16k", {}), false);
}
BENCHMARK(BM_Llama405BUnfolded)->Unit(benchmark::kMillisecond)->Iterations(1);

void BM_Estimate(benchmark::State& state, const char* name) {
  const ResolvedScenario s = Load(name, {});
  auto estimator = StepEstimator::Create(s.model, s.system);
  CHECK(estimator.ok());
  for (auto _ : state) {
    benchmark::DoNotOptimize(estimator->Estimate(*s.training).step_s());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(BM_Estimate, quickstart, "quickstart");
BENCHMARK_CAPTURE(BM_Estimate, llama3_405b, "llama3_405b_16k");
BENCHMARK_CAPTURE(BM_Estimate, deepseek_v3, "deepseek_v3_2k");

}  // namespace
}  // namespace orrery
