#pragma once
// Moves symbolic chunks through a schedule, one repetition at a time, and
// refuses what would be wrong on a machine: adding a contribution twice, or
// reading in a phase what the same phase writes (unless it streams, where the
// phase before is what it reads).
#include <set>
#include <vector>

#include "topology/collectives/collective.h"

namespace orrery {

// state[participant][segment * chunks + chunk]: whose contributions are in it.
using Contributions = std::set<int32_t>;
using SymbolicState = std::vector<std::vector<Contributions>>;

inline SymbolicState EmptyState(const Schedule& s) {
  return SymbolicState(
      static_cast<size_t>(s.participants()),
      std::vector<Contributions>(static_cast<size_t>(s.chunks * s.segments)));
}

// Returns false if a contribution was added twice or nothing was there to send.
inline bool RunSymbolically(const Schedule& s, SymbolicState& state) {
  for (int32_t segment = 0; segment < s.segments; ++segment) {
    for (const Phase& phase : s.phases) {
      int32_t repeats = 0;
      for (const Round& round : s.rounds_of(phase)) {
        repeats = std::max(repeats, round.repeat);
      }
      for (int32_t r = 0; r < repeats; ++r) {
        struct Write {
          size_t destination;
          size_t chunk;
          Contributions value;
          bool reduces;
        };
        std::vector<Write> writes;
        for (const Round& round : s.rounds_of(phase)) {
          if (r >= round.repeat) continue;
          for (const Message& message : s.messages_of(round)) {
            if (r < message.first || r >= message.first + message.times) {
              continue;
            }
            for (int32_t i = message.ranges_begin; i < message.ranges_end;
                 ++i) {
              const ChunkRange& range = s.ranges[static_cast<size_t>(i)];
              for (int32_t c = 0; c < range.count; ++c) {
                const int64_t x = static_cast<int64_t>(range.begin) +
                                  int64_t{c} * range.stride +
                                  int64_t{r} * round.shift;
                const int64_t m = round.chunk_modulus;
                const size_t chunk = static_cast<size_t>(
                    segment * s.chunks + round.chunk_base + (x % m + m) % m);
                const Contributions& value =
                    state[static_cast<size_t>(message.source)][chunk];
                if (value.empty()) return false;
                writes.push_back({static_cast<size_t>(message.destination),
                                  chunk, value, message.reduces});
              }
            }
          }
        }
        for (const Write& write : writes) {
          Contributions& target = state[write.destination][write.chunk];
          if (!write.reduces) {
            target = write.value;
            continue;
          }
          for (int32_t who : write.value) {
            if (!target.insert(who).second) return false;
          }
        }
      }
    }
  }
  return true;
}

}  // namespace orrery
