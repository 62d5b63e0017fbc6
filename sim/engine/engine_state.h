#pragma once
// EngineState: where every stream of every rank stands. Nothing per task.
//
// Streams of all ranks lie in one vector, a power of two of them per rank, so
// that an index splits into rank and stream by a shift.
#include <bit>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/simulation_ids.h"
#include "base/units.h"
#include "sim/engine/kernel_chains.h"
#include "traces/format/span.h"
#include "workload/program/loop_cursor.h"
#include "workload/program/program.h"

namespace orrery {

enum class StreamStatus : uint8_t {
  kHeading,        // the next task has not met its dependencies
  kArrived,        // it waits for its partners
  kRunning,        // a kernel, at full speed since it started
  kChained,        // likewise, and those of its chain that follow it
  kSharing,        // a kernel whose rate is kept by ChipSharing
  kCommunicating,  // a collective or a transfer
};

struct StreamState : LoopCursor {
  TaskId end{};
  StreamMask waiters = 0;  // streams of this rank whose heads wait for this one
  StreamStatus status = StreamStatus::kHeading;
  Release::By released_by = Release::By::kBeginning;
  int32_t releaser = 0;
  // Of the stream among whose waiters this one is: the task it waits for.
  TaskId awaited{};
  Time headed{};
  Time ready{};
  Time started{};
};

static_assert(sizeof(StreamState) == 56);

// Kernels of a role that need not be looked at one by one.
struct RoleChains {
  KernelChains chains;
  KernelSums sums;
};

struct RankState {
  const Role* role = nullptr;
  const RoleChains* chains = nullptr;  // if its kernels may be chained
  double slowness = 1;
  StreamMask kernels = 0;         // streams that run a kernel
  StreamMask communications = 0;  // streams that communicate and hold a share
  StreamMask spinning = 0;        // streams whose collective waits for partners
  bool is_dirty = false;          // its kernels' rates may have changed
};

struct EngineState {
  explicit EngineState(const Program& program)
      : shift(static_cast<int>(std::bit_width(program.streams().size() - 1))),
        stream_bits((uint32_t{1} << shift) - 1),
        streams(program.ranks().size() << shift) {
    ranks.reserve(program.ranks().size());
    for (const RankId rank : program.ranks().ids()) {
      const Role& role = program.role_of(rank);
      ranks.Add({.role = &role, .slowness = program.ranks()[rank].slowness});
      for (const StreamId stream : program.streams().ids()) {
        StreamState& state = streams[IndexOf(rank, stream)];
        static_cast<LoopCursor&>(state) = LoopCursor::AtBeginning(role, stream);
        state.end = role.stream_end(stream);
      }
    }
  }

  uint32_t IndexOf(RankId rank, StreamId stream) const {
    return static_cast<uint32_t>(rank) << shift | static_cast<uint32_t>(stream);
  }
  RankId RankOf(uint32_t index) const {
    return static_cast<RankId>(index >> shift);
  }
  StreamId StreamOf(uint32_t index) const {
    return static_cast<StreamId>(index & stream_bits);
  }
  // Another stream of the rank of `index`.
  StreamState& Beside(uint32_t index, uint32_t stream) {
    return streams[(index & ~stream_bits) | stream];
  }

  int shift;
  uint32_t stream_bits;  // of an index
  std::vector<StreamState> streams;
  IdVector<RankId, RankState> ranks;
};

// What the head of a stream did, which ends now.
TaskSpan SpanOf(const EngineState& state, uint32_t index, Time now);

// The stream's tasks to come: with a role per rank they are in no cache, and
// among so many streams the processor does not see the pattern by itself.
inline void PrefetchAfter(const Task& task) {
  constexpr uintptr_t kAhead = 128;
  __builtin_prefetch(reinterpret_cast<const void*>(
      reinterpret_cast<uintptr_t>(&task) + kAhead));
}

inline StreamMask Bit(StreamId stream) {
  return static_cast<StreamMask>(1u << static_cast<int>(stream));
}

// Calls `visit(StreamId)` for each bit, in order.
template <class F>
void ForEachStream(StreamMask mask, F&& visit) {
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    visit(static_cast<StreamId>(std::countr_zero(rest)));
  }
}

}  // namespace orrery
