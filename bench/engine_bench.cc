// The whole engine, on programs that stress one thing each. One item is one
// task (of one rank), except where it says otherwise.
//
//   BM_QueueHold        (a) the queue alone, for comparison in the same run
//   BM_KernelChains     (b) independent ranks, each a chain of kernels
//   BM_TensorGroups     (c) groups of 8: kernel, collective, kernel, collective
//   BM_SharedFabric     (d) concurrent flows over a shared fabric; items are
//                           changes of flows (one ends, the next of its kind
//                           starts)
//
// (b) and (c) run on both event queues, for the choice between them.
// Ranks run at slightly different speeds, so that events do not fall together;
// BM_KernelChainsInStep shows what happens when they do.
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "sim/engine/engine.h"
#include "sim/engine/heap_event_queue.h"
#include "sim/engine/radix_event_queue.h"
#include "sim/engine/span_sinks.h"
#include "workload/program/program_builder.h"

namespace orrery {
namespace {

using namespace std::chrono_literals;

constexpr StreamId kCompute{0};
constexpr StreamId kTensorStream{1};

ProgramBuilder NewBuilder() {
  return ProgramBuilder({{"compute", StreamKind::kCompute},
                         {"tensor", StreamKind::kCommunication}});
}

Program BuildOrDie(ProgramBuilder builder) {
  absl::StatusOr<Program> program = std::move(builder).Build();
  CHECK(program.ok()) << program.status().ToString();
  return *std::move(program);
}

// Durations of a transformer's kernels, a few to a few hundred microseconds.
Duration KernelDuration(Rng& rng) {
  return Duration(
      rng.Between(3'000'000, 3'000'000 << static_cast<int>(rng.Below(7))));
}

// Seconds of processor time of this thread.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

double PeakRssMebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// The queue's hold model with the durations of these benchmarks: pop an event,
// schedule it again.
template <EventQueue Queue>
class HoldModel {
 public:
  explicit HoldModel(uint32_t pending) : durations_(1 << 12) {
    Rng rng(1, "hold");
    for (Duration& d : durations_) d = KernelDuration(rng);
    queue_.Grow(EventPhase::kKernel, pending);
    for (uint32_t i = 0; i < pending; ++i) {
      queue_.Schedule({EventPhase::kKernel, i}, Time(Next()));
    }
  }
  // Returns the number of events popped.
  size_t Step() {
    const Time now = queue_.PopInstant(events_);
    for (const Event event : events_) queue_.Schedule(event, now + Next());
    return events_.size();
  }

 private:
  // A duration of the table plus a running number, so that times do not meet.
  Duration Next() {
    running_ = running_ * 6364136223846793005 + 1442695040888963407;
    return durations_[running_ >> 52] +
           Duration(static_cast<int64_t>(running_ >> 32 & 0xffff));
  }

  std::vector<Duration> durations_;
  uint64_t running_ = 1;
  Queue queue_;
  std::vector<Event> events_;
};

template <class Queue>
void BM_QueueHold(benchmark::State& state) {
  HoldModel<Queue> model(static_cast<uint32_t>(state.range(0)));
  size_t popped = 0;
  for (auto _ : state) popped += model.Step();
  state.SetItemsProcessed(static_cast<int64_t>(popped));
}
BENCHMARK_TEMPLATE(BM_QueueHold, RadixEventQueue)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->MinTime(0.3);

// Nanoseconds per event of the queue alone: the best of a few short runs.
template <EventQueue Queue>
double HoldNanoseconds(uint32_t pending) {
  HoldModel<Queue> model(pending);
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    size_t popped = 0;
    const double start = CpuSeconds();
    while (popped < 400'000) popped += model.Step();
    best = std::min(best,
                    1e9 * (CpuSeconds() - start) / static_cast<double>(popped));
  }
  return best;
}

// Runs the program and reports tasks per second, and how many times the queue's
// own cost an event (not a task) of the whole engine takes.
template <EventQueue Queue = RadixEventQueue>
void RunAndCount(benchmark::State& state, const Program& program,
                 const Transfers& transfers, uint32_t pending) {
  int64_t tasks = 0;
  int64_t events = 0;
  const double start = CpuSeconds();
  for (auto _ : state) {
    NullSink sink;
    const absl::StatusOr<RunResult> result =
        Simulate<Queue>(program, transfers, {}, sink);
    CHECK(result.ok()) << result.status().ToString();
    benchmark::DoNotOptimize(result->end);
    tasks += result->tasks;
    events += result->events;
  }
  const double engine =
      1e9 * (CpuSeconds() - start) / static_cast<double>(events);
  state.SetItemsProcessed(tasks);
  const double queue = HoldNanoseconds<Queue>(pending);
  state.counters["ns_per_event"] = engine;
  state.counters["queue_ns"] = queue;
  state.counters["ratio"] = engine / queue;
  state.counters["rss_mib"] = PeakRssMebibytes();
}

Program KernelChains(int32_t ranks, int tasks, double skew) {
  Rng rng(2, "kernel chains");
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  std::vector<Duration> durations(64);
  for (Duration& d : durations) d = KernelDuration(rng);
  for (int i = 0; i < tasks; ++i) {
    role.AddKernel(kCompute, "kernel", {.duration = durations[rng.Below(64)]});
  }
  for (int32_t rank = 0; rank < ranks; ++rank) {
    builder.AddRank(rank, role, /*multiplicity=*/1, 1 + skew * rng.Uniform());
  }
  return BuildOrDie(std::move(builder));
}

template <class Queue>
void BM_KernelChains(benchmark::State& state) {
  const Program program =
      KernelChains(static_cast<int32_t>(state.range(0)),
                   static_cast<int>(state.range(1)), /*skew=*/0.1);
  RunAndCount<Queue>(state, program, {}, static_cast<uint32_t>(state.range(0)));
}
BENCHMARK_TEMPLATE(BM_KernelChains, RadixEventQueue)
    ->Args({1'000, 6'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(BM_KernelChains, HeapEventQueue)
    ->Args({1'000, 6'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(BM_KernelChains, RadixEventQueue)
    ->Args({16'384, 6'000})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

void BM_KernelChainsInStep(benchmark::State& state) {
  const Program program =
      KernelChains(static_cast<int32_t>(state.range(0)),
                   static_cast<int>(state.range(1)), /*skew=*/0);
  RunAndCount(state, program, {}, static_cast<uint32_t>(state.range(0)));
}
BENCHMARK(BM_KernelChainsInStep)
    ->Args({1'000, 6'000})
    ->Unit(benchmark::kMillisecond);

// Per rank: kernel, all-reduce, kernel, all-reduce, each waiting for the one
// before it, on two streams. `share` is what the collective holds of the chip.
template <EventQueue Queue>
void TensorGroups(benchmark::State& state, double share, bool overlap) {
  constexpr int kGroup = 8;
  const auto ranks = static_cast<int32_t>(state.range(0));
  const auto layers = static_cast<int>(state.range(1));
  Rng rng(3, "tensor groups");
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("worker");
  const SlotRef slot = role.AddSlot("tensor", kTensorStream);
  std::optional<TaskRef> before;
  for (int i = 0; i < layers; ++i) {
    const TaskRef kernel =
        role.AddKernel(kCompute, "kernel", {.duration = KernelDuration(rng)});
    const TaskRef sum = role.AddCollective(
        slot, "sum", {.bytes = Bytes(1 << 20), .share = {share, share}});
    role.AddDependency(kernel, sum);
    if (before.has_value()) role.AddDependency(*before, kernel);
    if (overlap) {
      role.AddKernel(kCompute, "beside", {.duration = KernelDuration(rng)});
    }
    before = sum;
  }
  std::vector<GroupRef> groups;
  for (int32_t g = 0; g < ranks / kGroup; ++g) {
    groups.push_back(builder.AddGroup("tensor", g));
  }
  for (int32_t rank = 0; rank < ranks; ++rank) {
    const RankRef ref = builder.AddRank(rank, role, /*multiplicity=*/1,
                                        1 + 0.1 * rng.Uniform());
    builder.Bind(ref, slot, groups[static_cast<size_t>(rank / kGroup)]);
  }
  const Program program = BuildOrDie(std::move(builder));
  // A ring inside each island: 2 (p - 1) / p of the payload over each link.
  Transfers transfers;
  for (const Call& call : program.calls()) {
    std::vector<ResourceUse> uses;
    for (int i = 0; i < kGroup; ++i) {
      uses.push_back({transfers.capacities.Add(450e9), 1.75});
    }
    transfers.plan_of_call.Add(transfers.plans.AddChain(
        {{.latency = 5us,
          .work = static_cast<double>(call.what.bytes.value()),
          .uses = uses}}));
  }
  RunAndCount<Queue>(state, program, transfers, static_cast<uint32_t>(ranks));
}

template <class Queue>
void BM_TensorGroups(benchmark::State& state) {
  TensorGroups<Queue>(state, /*share=*/0, /*overlap=*/false);
}
BENCHMARK_TEMPLATE(BM_TensorGroups, HeapEventQueue)
    ->Args({1'024, 1'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(BM_TensorGroups, RadixEventQueue)
    ->Args({1'024, 1'000})
    ->Args({16'384, 100})
    ->Unit(benchmark::kMillisecond);

// The same, with a kernel beside every collective that slows it.
template <class Queue>
void BM_TensorGroupsOverlapped(benchmark::State& state) {
  TensorGroups<Queue>(state, /*share=*/0.15, /*overlap=*/true);
}
BENCHMARK_TEMPLATE(BM_TensorGroupsOverlapped, RadixEventQueue)
    ->Args({1'024, 1'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(BM_TensorGroupsOverlapped, HeapEventQueue)
    ->Args({1'024, 1'000})
    ->Unit(benchmark::kMillisecond);

// `flows` flows at a time, in fabrics of `size` flows that share links: each
// flow crosses a NIC of its own, one of size / 4 uplinks and one of size / 4
// downlinks.
void BM_SharedFabric(benchmark::State& state) {
  const auto flows = static_cast<int32_t>(state.range(0));
  const auto size = static_cast<int32_t>(state.range(1));
  constexpr int kCalls = 20;
  Rng rng(4, "shared fabric");
  ProgramBuilder builder = NewBuilder();
  RoleBuilder& role = builder.AddRole("sender");
  const SlotRef slot = role.AddSlot("out", kTensorStream);
  for (int i = 0; i < kCalls; ++i) {
    role.AddCollective(slot, "flow", {.bytes = Bytes((i % 5 + 1) << 20)});
  }
  for (int32_t f = 0; f < flows; ++f) {
    builder.Bind(builder.AddRank(f, role), slot, builder.AddGroup("flow", f));
  }
  const Program program = BuildOrDie(std::move(builder));
  Transfers transfers;
  const int32_t uplinks = std::max(1, size / 4);
  std::vector<std::vector<ResourceId>> links(static_cast<size_t>(flows / size));
  for (std::vector<ResourceId>& fabric : links) {
    for (int32_t l = 0; l < 2 * uplinks; ++l) {
      fabric.push_back(transfers.capacities.Add(100e9));
    }
  }
  for (const Call& call : program.calls()) {
    const auto fabric = Index(call.group) / static_cast<size_t>(size);
    const auto pick = [&](int32_t first) {
      return links[fabric][static_cast<size_t>(first) +
                           rng.Below(static_cast<uint64_t>(uplinks))];
    };
    const ResourceId nic = transfers.capacities.Add(50e9);
    transfers.plan_of_call.Add(transfers.plans.AddChain(
        {{.work = static_cast<double>(call.what.bytes.value()) *
                  (1 + rng.Uniform()),
          .uses = {{nic, 1}, {pick(0), 1}, {pick(uplinks), 1}}}}));
  }
  Sharing::Counters counters;
  int64_t changes = 0;
  for (auto _ : state) {
    NullSink sink;
    const absl::StatusOr<RunResult> result =
        Simulate(program, transfers, {}, sink);
    CHECK(result.ok()) << result.status().ToString();
    counters = result->sharing;
    changes += result->tasks;
  }
  state.SetItemsProcessed(changes);
  const double per_run = static_cast<double>(program.task_count());
  state.counters["solved_per_change"] =
      static_cast<double>(counters.activities_solved) / per_run;
  state.counters["largest_component"] =
      static_cast<double>(counters.largest_component);
  state.counters["time_per_solved"] = benchmark::Counter(
      static_cast<double>(counters.activities_solved) *
          static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_SharedFabric)
    ->ArgNames({"flows", "fabric"})
    ->Args({256, 16})
    ->Args({1'024, 16})
    ->Args({4'096, 16})
    ->Args({16, 16})
    ->Args({64, 64})
    ->Args({256, 256})
    ->Args({1'024, 1'024})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery
