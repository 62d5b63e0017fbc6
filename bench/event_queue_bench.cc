// The event queue against its alternatives.
//
// BM_Hold: the classic hold model (Jones, CACM 29, 1986). N events are pending;
// each event popped is scheduled again at a random time ahead. One item is one
// event popped and scheduled.
// BM_Move: the same, and for every event popped one pending event is moved, as
// when rates change.
#include <benchmark/benchmark.h>

#include <vector>

#include "base/random.h"
#include "bench/queue_candidates.h"

namespace orrery {
namespace {

// Enough increments that the cache sees no pattern, few enough to stay in it.
constexpr size_t kIncrements = 1 << 12;

std::vector<Duration> RandomIncrements() {
  Rng rng(1, "hold increments");
  std::vector<Duration> increments(kIncrements);
  for (Duration& d : increments) {
    d = Duration(1 + static_cast<int64_t>(1e7 * rng.Exponential()));
  }
  return increments;
}

template <class Queue, bool kMoves>
void Hold(benchmark::State& state) {
  const auto pending = static_cast<uint32_t>(state.range(0));
  const std::vector<Duration> increments = RandomIncrements();
  size_t next = 0;
  const auto increment = [&] { return increments[next++ % kIncrements]; };
  Queue queue(pending);
  for (uint32_t i = 0; i < pending; ++i) {
    queue.Schedule({EventPhase::kKernel, i}, Time(increment()));
  }
  std::vector<Event> events;
  int64_t popped = 0;
  uint32_t victim = 0;
  for (auto _ : state) {
    const Time now = queue.PopInstant(events);
    for (const Event event : events) queue.Schedule(event, now + increment());
    if constexpr (kMoves) {
      for (size_t i = 0; i < events.size(); ++i) {
        victim = (victim + 7919) % pending;
        queue.Schedule({EventPhase::kKernel, victim}, now + increment());
      }
    }
    popped += static_cast<int64_t>(events.size());
  }
  state.SetItemsProcessed(popped);
}

template <class Queue>
void BM_Hold(benchmark::State& state) {
  Hold<Queue, false>(state);
}
template <class Queue>
void BM_Move(benchmark::State& state) {
  Hold<Queue, true>(state);
}

void Sizes(benchmark::internal::Benchmark* b) {
  b->RangeMultiplier(10)->Range(1000, 1'000'000)->MinTime(0.15);
}

BENCHMARK_TEMPLATE(BM_Hold, RadixQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Hold, DaryQueue<2>)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Hold, DaryQueue<4>)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Hold, DaryQueue<8>)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Hold, PairingQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Hold, FibonacciQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Hold, LazyQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Move, RadixQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Move, DaryQueue<2>)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Move, DaryQueue<4>)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Move, DaryQueue<8>)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Move, PairingQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Move, FibonacciQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Move, LazyQueue)->Apply(Sizes);

}  // namespace
}  // namespace orrery
