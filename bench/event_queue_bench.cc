// The event queues of the engine, and what else was weighed.
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
#include "sim/engine/heap_event_queue.h"
#include "sim/engine/radix_event_queue.h"

namespace orrery {
namespace {

// Times ahead: exponential with a mean of ten microseconds, from a table that
// stays in the cache, plus a running number so that no two rounds are alike.
class Increments {
 public:
  Increments() : table_(1 << 12) {
    Rng rng(1, "hold increments");
    for (Duration& d : table_) {
      d = Duration(1 + static_cast<int64_t>(1e7 * rng.Exponential()));
    }
  }
  Duration Next() {
    running_ = running_ * 6364136223846793005 + 1442695040888963407;
    return table_[running_ >> 52] +
           Duration(static_cast<int64_t>(running_ >> 32 & 0xfffff));
  }

 private:
  std::vector<Duration> table_;
  uint64_t running_ = 1;  // a linear congruential generator (Knuth's MMIX)
};

template <class Queue, bool kMoves>
void Hold(benchmark::State& state) {
  const auto pending = static_cast<uint32_t>(state.range(0));
  Increments increments;
  Queue queue;
  queue.Grow(EventPhase::kKernel, pending);
  for (uint32_t i = 0; i < pending; ++i) {
    queue.Schedule({EventPhase::kKernel, i}, Time(increments.Next()));
  }
  std::vector<Event> events;
  int64_t popped = 0;
  uint32_t victim = 0;
  for (auto _ : state) {
    const Time now = queue.PopInstant(events);
    for (const Event event : events)
      queue.Schedule(event, now + increments.Next());
    if constexpr (kMoves) {
      for (size_t i = 0; i < events.size(); ++i) {
        victim = (victim + 7919) % pending;
        queue.Schedule({EventPhase::kKernel, victim}, now + increments.Next());
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

BENCHMARK_TEMPLATE(BM_Hold, RadixEventQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Hold, DaryEventQueue<2>)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Hold, HeapEventQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Hold, DaryEventQueue<8>)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Hold, PairingQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Hold, FibonacciQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Hold, LazyQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Move, RadixEventQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Move, DaryEventQueue<2>)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Move, HeapEventQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Move, DaryEventQueue<8>)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Move, PairingQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Move, FibonacciQueue)->Apply(Sizes);
BENCHMARK_TEMPLATE(BM_Move, LazyQueue)->Apply(Sizes);

}  // namespace
}  // namespace orrery
