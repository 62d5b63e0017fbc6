// How the cost of a step grows with its ranks, layers and micro-batches, and of
// an all-to-all with its ranks: counts and exponents that hold on any machine,
// beside processor time that does not.
//
// Every row has four times as much of one thing as the row before; `exponent`
// is that of processor time since then, `share` the part of planning transfers.
//
//   build/release/bench/growth_bench --benchmark_filter=Ranks
#include <benchmark/benchmark.h>

#include <cmath>
#include <ctime>
#include <map>
#include <string>

#include "base/check.h"
#include "base/format.h"
#include "catalog/resolve.h"
#include "run/run_scenario.h"
#include "run/scenario.h"
#include "sim/network/call_planner.h"
#include "sim/network/network.h"

namespace orrery {
namespace {

double ProcessorSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Runs once and reports counts, seconds by stage and the exponent since the
// case before of the same `family`.
void RunOnce(benchmark::State& state, const std::string& family, double size,
             const std::string& name, const std::vector<std::string>& sets,
             RunOptions options) {
  auto proto = ResolveScenario(Catalog(), name, sets);
  CHECK(proto.ok()) << proto.status().ToString();
  auto scenario = MakeScenario(*std::move(proto));
  CHECK(scenario.ok()) << scenario.status().ToString();
  double planning = 0;
  double total = 0;
  std::string_view stage;
  double since = 0;
  options.progress = [&](std::string_view next, double) {
    if (next == stage) return;
    const double now = ProcessorSeconds();
    if (stage == "planning transfers") planning += now - since;
    stage = next;
    since = now;
  };
  for (auto _ : state) {
    const double began = ProcessorSeconds();
    auto run = RunScenario(*scenario, options);
    CHECK(run.ok()) << run.status().ToString();
    total = ProcessorSeconds() - began;
    state.counters["tasks"] = static_cast<double>(run->result.tasks);
    state.counters["events"] = static_cast<double>(run->result.events);
  }
  state.counters["share"] = planning / total;
  static std::map<std::string, std::pair<double, double>> before;
  const auto [size_before, total_before] = before[family];
  if (size_before > 0) {
    state.counters["exponent"] =
        std::log(total / total_before) / std::log(size / size_before);
  }
  before[family] = {size, total};
}

// GPT-3 175B, TP 8, PP 8, from 64 to 4 096 ranks, each by itself: 16
// micro-batches whatever the data degree.
void BM_Ranks(benchmark::State& state) {
  const int64_t data = state.range(0);
  RunOnce(state, "ranks", static_cast<double>(64 * data), "megatron_175b_full",
          {fmt::format("system.nodes={}", 8 * data),
           fmt::format("training.parallel.data={}", data),
           fmt::format("training.global_batch={}", 16 * data),
           "training.micro_batch=1"},
          {.fold = false, .detail = false});
}
BENCHMARK(BM_Ranks)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->RangeMultiplier(4)
    ->Range(1, 64);

// Llama 3 405B, TP 8, PP 16 x 8, from 1 024 to 16 384 ranks.
void BM_Ranks405B(benchmark::State& state) {
  const int64_t data = state.range(0);
  RunOnce(state, "ranks of 405B", static_cast<double>(128 * data),
          "llama3_405b_16k",
          {fmt::format("system.nodes={}", 16 * data),
           fmt::format("training.parallel.data={}", data),
           fmt::format("training.global_batch={}", 16 * data)},
          {.fold = false, .detail = false});
}
BENCHMARK(BM_Ranks405B)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->RangeMultiplier(4)
    ->Range(8, 128);

// The quick start with more micro-batches, folded, every kernel by itself.
void BM_MicroBatches(benchmark::State& state) {
  const int64_t factor = state.range(0);
  RunOnce(state, "micro-batches", static_cast<double>(factor), "quickstart",
          {fmt::format("training.global_batch={}", 64 * factor)}, {});
}
BENCHMARK(BM_MicroBatches)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->RangeMultiplier(4)
    ->Range(1, 256);

// The quick start with more layers.
void BM_Layers(benchmark::State& state) {
  const int64_t layers = state.range(0);
  RunOnce(state, "layers", static_cast<double>(layers), "quickstart",
          {fmt::format("model.layers={}", layers)}, {});
}
BENCHMARK(BM_Layers)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->RangeMultiplier(4)
    ->Range(32, 2048);

// One all-to-all over a 3-tier fat tree of 1-chip nodes, planned by a planner
// that knows nothing yet; pairs that it stands for beside its time.
void BM_AllToAll(benchmark::State& state, const char* routing) {
  const int64_t ranks = state.range(0);
  auto proto = ResolveSystem(
      Catalog(), "gh200_ib400",
      {fmt::format("system.nodes={}", ranks),
       fmt::format("system.scale_out.fabric.routing={}", routing)});
  CHECK(proto.ok()) << proto.status().ToString();
  pb::Fabric& fabric = *proto->mutable_scale_out()->mutable_fabric();
  fabric.mutable_fat_tree()->set_tiers(3);
  fabric.mutable_fat_tree()->set_radix(64);
  fabric.mutable_fat_tree()->set_taper(1);
  const auto system = System::FromProto(*proto);
  CHECK(system.ok()) << system.status().ToString();
  const auto network = Network::Make(*system);
  CHECK(network.ok()) << network.status().ToString();
  CollectiveCall call = {CommunicationKind::kAllToAll, Bytes(64'000'000), {}};
  for (int64_t i = 0; i < ranks; ++i) {
    call.chips.push_back(static_cast<VertexId>(i));
  }
  for (auto _ : state) {
    CallPlanner planner(*network, {});
    const auto planned = planner.Plan(call);
    CHECK(planned.ok()) << planned.status().ToString();
    benchmark::DoNotOptimize(planned->solo);
  }
  state.counters["pairs"] = static_cast<double>(ranks * (ranks - 1));
}
#define ALL_TO_ALL(routing)                         \
  BENCHMARK_CAPTURE(BM_AllToAll, routing, #routing) \
      ->Unit(benchmark::kMillisecond)               \
      ->Iterations(1)                               \
      ->Arg(256)                                    \
      ->Arg(1024)                                   \
      ->Arg(4096)                                   \
      ->Arg(16384)
ALL_TO_ALL(SPRAY);
ALL_TO_ALL(MINIMAL);
ALL_TO_ALL(ECMP);

}  // namespace
}  // namespace orrery
