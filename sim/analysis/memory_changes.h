#pragma once
// How the memory of a rank changes over a run, tensor by tensor.
//
//   MemoryByKind held = program.role_of(rank).initial_memory();
//   for (const MemoryChange& change : MemoryChanges(program, spans, rank)) {
//     held[change.kind] += change.bytes;
//   }
#include <cstddef>
#include <vector>

#include "base/units.h"
#include "sim/analysis/span_index.h"
#include "workload/program/program.h"

namespace orrery {

struct MemoryChange {
  Time at{};
  bool is_start = false;  // of its task
  size_t kind = 0;        // a MemoryKind, as a place in MemoryByKind
  Bytes bytes{};
};

// In the order of time; within an instant what ends gives back before what
// starts takes, as in the engine, so that the largest sum is the engine's peak.
// Of what was recorded: where that is a window, `held` begins with what the
// tasks before it left (RecordingSink::TakeForgotten).
std::vector<MemoryChange> MemoryChanges(const Program& program,
                                        const SpanIndex& spans, RankId rank);

}  // namespace orrery
