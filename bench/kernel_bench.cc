// The time it takes to time one op: from the formulas, and remembered.
//
// Every benchmark also counts allocations per op on its hot path; there should
// be none.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "catalog/catalog.h"
#include "cost/kernel/kernel_timer.h"
#include "proto/chip.pb.h"
#include "topology/machine/chip.h"
#include "workload/model/layer.h"
#include "workload/model/op.h"

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

// Not inlined, so that the compiler does not see malloc behind new.
__attribute__((noinline)) void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept {
  std::free(memory);
}
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace orrery {
namespace {

constexpr int kOps = 1024;

Chip BenchChip() {
  auto proto = Catalog().Chip("h100_sxm");
  CHECK(proto.ok());
  auto chip = Chip::FromProto(*proto);
  CHECK(chip.ok());
  return *std::move(chip);
}

Kernels BenchKernels() {
  auto proto = Catalog().Kernels("hopper_trtllm_2025");
  CHECK(proto.ok());
  auto kernels = Kernels::FromProto(*proto);
  CHECK(kernels.ok());
  return *std::move(kernels);
}

KernelTimer BenchTimer() {
  auto timer = KernelTimer::Create(BenchChip(), BenchKernels());
  CHECK(timer.ok());
  return *std::move(timer);
}

std::vector<Op> Products() {
  Rng rng(1, "products");
  std::vector<Op> ops;
  for (int i = 0; i < kOps; ++i) {
    ops.push_back({OpName::kProduct, Pass::kForward,
                   Gemm{.m = rng.Between(1, 16384),
                        .n = rng.Between(64, 16384),
                        .k = rng.Between(64, 16384)}});
  }
  return ops;
}

std::vector<Op> GroupedProducts() {
  Rng rng(2, "grouped");
  std::vector<Op> ops;
  for (int i = 0; i < kOps; ++i) {
    const auto rows = static_cast<double>(rng.Between(1, 4096));
    ops.push_back({OpName::kGroupedProduct, Pass::kForward,
                   GroupedGemm{.groups = 32,
                               .rows = rows,
                               .hot_rows = rows,
                               .active = 32,
                               .n = rng.Between(64, 8192),
                               .k = rng.Between(64, 8192)}});
  }
  return ops;
}

std::vector<Op> Attentions() {
  Rng rng(3, "attention");
  std::vector<Op> ops;
  for (int i = 0; i < kOps; ++i) {
    const int64_t queries = rng.Between(1, 8192);
    ops.push_back({OpName::kAttention, Pass::kForward,
                   FusedAttention{.batch = rng.Between(1, 64),
                                  .query_heads = 32,
                                  .kv_heads = 8,
                                  .queries = queries,
                                  .keys = queries + rng.Between(0, 8192),
                                  .head_dimension = 128,
                                  .value_dimension = 128}});
  }
  return ops;
}

std::vector<Op> PointwiseOps() {
  Rng rng(4, "pointwise");
  std::vector<Op> ops;
  for (int i = 0; i < kOps; ++i) {
    const Bytes bytes(rng.Between(1, 1 << 30));
    ops.push_back({OpName::kNorm, Pass::kForward,
                   Pointwise{.kind = Pointwise::Kind::kNorm,
                             .read = bytes,
                             .written = bytes,
                             .row = 8192}});
  }
  return ops;
}

template <class Timer>
void TimeOps(benchmark::State& state, Timer& timer,
             const std::vector<Op>& ops) {
  const int64_t before = allocations.load();
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(timer.Time(ops[i]));
    i = (i + 1) % ops.size();
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["allocations"] =
      static_cast<double>(allocations.load() - before) /
      static_cast<double>(state.iterations());
}

void BM_ColdGemm(benchmark::State& state) {
  const KernelTimer timer = BenchTimer();
  TimeOps(state, timer, Products());
}
BENCHMARK(BM_ColdGemm);

void BM_ColdGroupedGemm(benchmark::State& state) {
  const KernelTimer timer = BenchTimer();
  TimeOps(state, timer, GroupedProducts());
}
BENCHMARK(BM_ColdGroupedGemm);

void BM_ColdAttention(benchmark::State& state) {
  const KernelTimer timer = BenchTimer();
  TimeOps(state, timer, Attentions());
}
BENCHMARK(BM_ColdAttention);

void BM_ColdPointwise(benchmark::State& state) {
  const KernelTimer timer = BenchTimer();
  TimeOps(state, timer, PointwiseOps());
}
BENCHMARK(BM_ColdPointwise);

// All four kinds, each op asked for again and again.
void BM_Remembered(benchmark::State& state) {
  const KernelTimer timer = BenchTimer();
  OpTimeCache cache(timer);
  std::vector<Op> ops = Products();
  for (const auto& more : {GroupedProducts(), Attentions(), PointwiseOps()}) {
    ops.insert(ops.end(), more.begin(), more.end());
  }
  for (const Op& op : ops) cache.Time(op);
  TimeOps(state, cache, ops);
}
BENCHMARK(BM_Remembered);

// The op lists of one layer, forward and backward.
void BM_BuildLayer(benchmark::State& state) {
  auto proto = Catalog().Model("llama3_405b");
  CHECK(proto.ok());
  auto model = Model::FromProto(*proto);
  CHECK(model.ok());
  const LayerShape shape{
      .groups = {{.queries = 8192}}, .tensor = 8, .sequence_parallel = true};
  for (auto _ : state) {
    benchmark::DoNotOptimize(BuildLayer(*model, 0, shape));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_BuildLayer);

}  // namespace
}  // namespace orrery
