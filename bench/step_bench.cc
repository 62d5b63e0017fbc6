// One training step: lowering, simulation folded and not, and the closed form.
//
// CPU is that of all threads: paths for the bounds are found beside a long run.
// Each benchmark of a step also reports the memory of the process at its
// highest so far: run one by itself (--benchmark_filter) to have its own.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "analytic/step/step_estimate.h"
#include "base/check.h"
#include "base/format.h"
#include "catalog/resolve.h"
#include "cost/kernel/kernel_timer.h"
#include "cost/kernel/kernel_work.h"
#include "run/run_scenario.h"
#include "run/scenario.h"
#include "workload/lowering/training/lower_training.h"

namespace orrery {
namespace {

using Sets = std::vector<std::string>;

ResolvedScenario Load(const std::string& name, const Sets& sets) {
  auto proto = ResolveScenario(Catalog(), name, sets);
  CHECK(proto.ok()) << proto.status().ToString();
  auto scenario = MakeScenario(*std::move(proto));
  CHECK(scenario.ok()) << scenario.status().ToString();
  return *std::move(scenario);
}

// GPT-1T on 3 072 A100 as published (SC'21): TP 8, PP 64, DP 6.
const Sets kGpt1T = {"system.nodes=384", "training.global_batch=3072",
                     "training.parallel.data=6"};

void RunSteps(benchmark::State& state, const ResolvedScenario& s,
              const RunOptions& options) {
  int64_t tasks = 0;
  int64_t peak = 0;
  for (auto _ : state) {
    auto run = RunScenario(s, options);
    CHECK(run.ok()) << run.status().ToString();
    tasks += run->result.tasks;
    peak = run->memory.peak.total.value();
  }
  state.SetItemsProcessed(tasks);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["process_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
  state.counters["simulated_GiB"] =
      static_cast<double>(peak) / (1024.0 * 1024 * 1024);
}

void BM_Step(benchmark::State& state, const char* name, const Sets& sets,
             const RunOptions& options) {
  RunSteps(state, Load(name, sets), options);
}
// `each`: every kernel is a task, as by default. `merged`: kernels without
// communication between them are one.
#define STEP(label, name, sets, ...)                                       \
  BENCHMARK_CAPTURE(BM_Step, label##_each, name, sets,                     \
                    RunOptions{__VA_ARGS__})                               \
      ->Unit(benchmark::kMillisecond)                                      \
      ->MeasureProcessCPUTime()                                            \
      ->Iterations(1);                                                     \
  BENCHMARK_CAPTURE(BM_Step, label##_merged, name, sets,                   \
                    RunOptions{__VA_ARGS__ __VA_OPT__(, ).detail = false}) \
      ->Unit(benchmark::kMillisecond)                                      \
      ->MeasureProcessCPUTime()                                            \
      ->Iterations(1)
// GPT-3 175B with TP 8, PP 8, DP 16 and 16 micro-batches on 1 024 A100.
const Sets kLean = {"system.nodes=128", "training.global_batch=256",
                    "training.parallel.data=16"};
STEP(lean_folded, "megatron_175b_full", kLean);
STEP(lean_unfolded, "megatron_175b_full", kLean, .fold = false);
STEP(gpt_1t_folded, "megatron_1t_full", kGpt1T);
STEP(llama3_405b_folded, "llama3_405b_16k", Sets{});
STEP(llama3_405b_unfolded, "llama3_405b_16k", Sets{}, .fold = false);

// 405B on 16 384 chips, one of which has links at half their bandwidth: folded
// around it.
void BM_SlowLink(benchmark::State& state) {
  auto proto = ResolveScenario(Catalog(), "llama3_405b_16k", {});
  CHECK(proto.ok()) << proto.status().ToString();
  pb::LinkFault& fault = *proto->mutable_system()->add_fault();
  fault.set_from(5);
  fault.set_remaining(0.5);
  auto scenario = MakeScenario(*std::move(proto));
  CHECK(scenario.ok()) << scenario.status().ToString();
  RunSteps(state, *scenario, {});
}
BENCHMARK(BM_SlowLink)->Unit(benchmark::kMillisecond)->Iterations(1);

// The quick start with its global batch times so much: more micro-batches, and
// nothing else.
void BM_GradientAccumulation(benchmark::State& state) {
  const ResolvedScenario once = Load("quickstart", {});
  const int64_t batch = once.proto.training().global_batch() * state.range(0);
  RunSteps(state,
           Load("quickstart", {fmt::format("training.global_batch={}", batch)}),
           {});
}
BENCHMARK(BM_GradientAccumulation)
    ->Unit(benchmark::kMillisecond)
    ->Arg(1)
    ->Arg(16);

// The part of a step that comes before transfers are planned and simulated.
void BM_Lower(benchmark::State& state) {
  const ResolvedScenario s = Load("megatron_1t_full", kGpt1T);
  const auto timer = KernelTimer::Create(s.system.chip(), s.kernels);
  CHECK(timer.ok());
  OpTimeCache cache(*timer);
  const auto time = [&](const Op& op) {
    return ToKernelWork(op, cache.Time(op), s.system.chip(), s.kernels);
  };
  int64_t tasks = 0;
  for (auto _ : state) {
    LowerOptions options;
    options.pass.merge = false;
    auto step = LowerTraining(s.model, *s.training(), time, options);
    CHECK(step.ok());
    tasks += step->program.task_count();
  }
  state.SetItemsProcessed(tasks);
}
BENCHMARK(BM_Lower)->Unit(benchmark::kMillisecond);

// A plan that was asked for before, or whose kernels were.
void BM_Estimate(benchmark::State& state, const char* name) {
  const ResolvedScenario s = Load(name, {});
  auto estimator = StepEstimator::Create(s.model, s.system, s.kernels);
  CHECK(estimator.ok());
  for (auto _ : state) {
    benchmark::DoNotOptimize(estimator->Estimate(*s.training()).step_s());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(BM_Estimate, quickstart, "quickstart");
BENCHMARK_CAPTURE(BM_Estimate, llama3_405b, "llama3_405b_16k");
BENCHMARK_CAPTURE(BM_Estimate, deepseek_v3, "deepseek_v3_2k");

// The first plan of an estimator: nothing is remembered, and the estimator
// itself is made.
void BM_FirstEstimate(benchmark::State& state, const char* name) {
  const ResolvedScenario s = Load(name, {});
  for (auto _ : state) {
    auto estimator = StepEstimator::Create(s.model, s.system, s.kernels);
    benchmark::DoNotOptimize(estimator->Estimate(*s.training()).step_s());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(BM_FirstEstimate, quickstart, "quickstart");
BENCHMARK_CAPTURE(BM_FirstEstimate, llama3_405b, "llama3_405b_16k");
BENCHMARK_CAPTURE(BM_FirstEstimate, deepseek_v3, "deepseek_v3_2k");

// As a planner asks: every split of a machine over tensor, pipeline and data
// ranks, micro-batch and recomputation that is a plan, by a new estimator.
// `again`: by one that was asked for them before.
void BM_EstimateSweep(benchmark::State& state, const char* name,
                      bool again = false) {
  const ResolvedScenario s = Load(name, {});
  std::vector<TrainingPlan> plans;
  for (const int tensor : {1, 2, 4, 8, 16}) {
    for (const int pipeline : {1, 2, 4, 8, 16, 32}) {
      for (const int micro_batch : {1, 2, 4, 8}) {
        for (int recompute = 1; recompute <= 3; ++recompute) {
          pb::Training training = s.proto.training();
          const int ranks = training.parallel().tensor() *
                            training.parallel().pipeline() *
                            training.parallel().data();
          training.set_schedule(pb::Training::ONE_F_ONE_B);
          training.set_virtual_stages(1);
          training.set_micro_batch(micro_batch);
          training.set_recompute(
              static_cast<pb::Training::Recompute>(recompute));
          training.mutable_parallel()->set_tensor(tensor);
          training.mutable_parallel()->set_pipeline(pipeline);
          training.mutable_parallel()->set_data(ranks / tensor / pipeline);
          auto plan = TrainingPlan::FromProto(training, s.model, s.system);
          if (plan.ok()) plans.push_back(*std::move(plan));
        }
      }
    }
  }
  auto estimator = StepEstimator::Create(s.model, s.system, s.kernels);
  for (auto _ : state) {
    if (!again) {
      estimator = StepEstimator::Create(s.model, s.system, s.kernels);
    }
    for (const TrainingPlan& plan : plans) {
      benchmark::DoNotOptimize(estimator->Estimate(plan).step_s());
    }
  }
  state.counters["plans"] = static_cast<double>(plans.size());
  state.counters["per_plan"] =
      benchmark::Counter(static_cast<double>(plans.size()),
                         benchmark::Counter::kIsIterationInvariantRate |
                             benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(BM_EstimateSweep, quickstart, "quickstart");
BENCHMARK_CAPTURE(BM_EstimateSweep, gpt3_175b, "megatron_175b_full");
BENCHMARK_CAPTURE(BM_EstimateSweep, quickstart_again, "quickstart", true);
BENCHMARK_CAPTURE(BM_EstimateSweep, gpt3_175b_again, "megatron_175b_full",
                  true);

}  // namespace
}  // namespace orrery
