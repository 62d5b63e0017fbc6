#pragma once
// Task: what one entry of a stream does. Plain values, shared by all ranks that
// play the same role.
//
//   kernel      runs on the chip for `duration` if it has its demand to itself
//   collective  runs together with the other members of its group
//   send, receive   the two ends of one transfer
//   marker      takes no time; carries a name, dependencies, memory effects
//
// Any task may change the memory of its rank when it starts or when it ends.
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/simulation_ids.h"
#include "base/units.h"
#include "workload/program/communication.h"

namespace orrery {

enum class TaskKind : uint8_t {
  kKernel,
  kCollective,
  kSend,
  kReceive,
  kMarker
};
inline constexpr int kTaskKinds = 5;

constexpr bool IsCommunication(TaskKind kind) {
  return kind == TaskKind::kCollective || kind == TaskKind::kSend ||
         kind == TaskKind::kReceive;
}

// What a kernel's time is made of, for reports and timelines; of all this the
// engine looks at the launch only. The rest of the duration is arithmetic. For
// kernels that were merged into one task, the sums.
struct KernelFacts {
  Duration launch{0};        // starting it at all
  Duration memory_bound{0};  // spent at the limit of main memory
  Flops flops{0};            // of the matrix units, as executed
  Bytes memory_traffic{0};   // to and from main memory
  // What it computes, in the list of whoever timed the ops; nothing where
  // several were merged. It is one of so many equal pieces of that op.
  std::optional<OpId> op = std::nullopt;
  int32_t pieces = 1;
  friend auto operator<=>(const KernelFacts&, const KernelFacts&) = default;
};

// What a kernel needs. While it is launched it needs nothing of its chip. From
// then on it occupies `demand` at full speed; while others hold part of that,
// it runs slower in proportion.
struct KernelWork {
  Duration duration{0};
  ChipShare demand = {.compute = 1, .memory = 0};
  KernelFacts facts = {};
  friend auto operator<=>(const KernelWork&, const KernelWork&) = default;
  template <class H>
  friend H AbslHashValue(H h, const KernelWork& k) {
    return H::combine(std::move(h), k.duration.count(), k.demand.compute,
                      k.demand.memory, k.facts.launch.count(),
                      k.facts.memory_bound.count(), k.facts.flops.value(),
                      k.facts.memory_traffic.value(), k.facts.op,
                      k.facts.pieces);
  }
};

enum class MemoryKind : uint8_t {
  kWeights,
  kGradients,
  kOptimizer,
  kActivations,
  kBuffers,
  kKvCache
};
inline constexpr int kMemoryKinds = 6;
using MemoryByKind = std::array<Bytes, kMemoryKinds>;

constexpr std::string_view NameOf(MemoryKind kind) {
  constexpr std::string_view kNames[] = {"weights",   "gradients",
                                         "optimizer", "activations",
                                         "buffers",   "kv_cache"};
  return kNames[static_cast<int>(kind)];
}

// `change` bytes, when the task starts or when it ends; negative releases.
struct MemoryEffect {
  enum class When : uint8_t { kStart, kEnd };
  When when = When::kStart;
  MemoryKind kind = MemoryKind::kActivations;
  Bytes change;
  friend bool operator==(const MemoryEffect&, const MemoryEffect&) = default;
};

// What reports and timelines count a task as.
enum class WorkPhase : uint8_t {
  kOther,
  kForward,
  kBackward,
  kWeightGradient,
  kRecompute,
  kGradientSync,
  kOptimizer,
  kPrefill,
  kDecode
};

constexpr std::string_view NameOf(WorkPhase phase) {
  constexpr std::string_view kNames[] = {
      "other",         "forward",   "backward", "weight gradient", "recompute",
      "gradient sync", "optimizer", "prefill",  "decode"};
  return kNames[static_cast<int>(phase)];
}

// Where in the step a task belongs; for people and reports, not for the engine.
struct Mark {
  WorkPhase phase = WorkPhase::kOther;
  std::optional<int32_t> layer = std::nullopt;
  std::optional<int32_t> micro_batch = std::nullopt;
  // Which of the rank's passes, in its order, where passes run beside each
  // other; and which of several pieces: of its model, or of a step's batch.
  std::optional<int32_t> pass = std::nullopt;
  std::optional<int32_t> piece = std::nullopt;
  friend bool operator==(const Mark&, const Mark&) = default;
};

// The engine's view of a task: sixteen bytes, four to a cache line. Hardly any
// task waits for more than one other, so that one is here.
struct Task {
  TaskKind kind = TaskKind::kMarker;
  bool has_memory_effects = false;
  uint16_t slot = 0;          // communication: which of the role's slots
  int32_t payload = 0;        // kernel: its place in the role's kernels;
                              // communication: its place in the slot's calls
  TaskId first_dependency{};  // if there is any
  uint8_t first_dependency_stream = 0;
  uint8_t dependency_count = 0;
};
static_assert(sizeof(Task) == 16);

// `task`, which lives in `stream`, must be done.
struct Dependency {
  StreamId stream;
  TaskId task;
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

}  // namespace orrery
