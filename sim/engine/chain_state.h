#pragma once
// Streams that go through a chain of kernels at once (kernel_chains.h): when
// they come to its end, and where in it they are.
//
// While a stream is chained its head is the first kernel of the chain that is
// not known to be done, and `started` is when that one began.
#include <memory>
#include <optional>
#include <vector>

#include "sim/engine/engine_state.h"
#include "sim/engine/kernel_chains.h"
#include "sim/sharing/completion.h"

namespace orrery {

// Gives ranks their chains, by role, except those that `is_seen` tells and
// those whose kernels are slower, and so end at times of their own. They must
// stay as long as the state is used.
template <class IsSeen>
std::vector<std::unique_ptr<RoleChains>> FindChains(const Program& program,
                                                    EngineState& state,
                                                    IsSeen is_seen) {
  std::vector<std::unique_ptr<RoleChains>> chains(program.roles().size());
  for (const RankId rank : program.ranks().ids()) {
    const ProgramRank& of = program.ranks()[rank];
    if (is_seen(rank) || of.slowness != 1) continue;
    std::unique_ptr<RoleChains>& own = chains[Index(of.role)];
    if (!own) {
      const Role& role = program.roles()[of.role];
      own = std::make_unique<RoleChains>(RoleChains{
          KernelChains(role, program.streams().size()), KernelSums(role)});
    }
    state.ranks[rank].chains = own.get();
  }
  return chains;
}

// When the chain ends whose first kernel starts now at the head of the stream;
// nothing if there is none, or it ends beyond time.
inline std::optional<Time> ChainEnd(const StreamState& stream,
                                    const RoleChains& of, Time now) {
  const int32_t length = of.chains.length(stream.place);
  if (length == 1) return std::nullopt;
  const Time end = After(now, of.sums.Of(stream.place, length));
  if (end == kEndOfTime) return std::nullopt;
  return end;
}

// So many kernels of the chain are done; the head is the one after them.
inline void PassKernels(StreamState& stream, int32_t count) {
  stream.next = static_cast<TaskId>(static_cast<int32_t>(stream.next) + count);
  stream.place =
      static_cast<PlaceId>(static_cast<int32_t>(stream.place) + count);
}

// From a chain to the kernel of it that runs at `now`, by itself; how many were
// done before. Requires: the chain has not ended.
inline int32_t LeaveChain(StreamState& stream, const RoleChains& of, Time now) {
  int32_t done = 0;
  while (stream.started + of.sums.Of(stream.place, done + 1) <= now) ++done;
  stream.started += of.sums.Of(stream.place, done);
  stream.headed = stream.started;
  stream.ready = stream.started;
  stream.status = StreamStatus::kRunning;
  PassKernels(stream, done);
  return done;
}

}  // namespace orrery
