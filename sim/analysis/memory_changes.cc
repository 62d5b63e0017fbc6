#include "sim/analysis/memory_changes.h"

#include <algorithm>
#include <tuple>

namespace orrery {

std::vector<MemoryChange> MemoryChanges(const Program& program,
                                        const SpanIndex& spans, RankId rank) {
  const Role& role = program.role_of(rank);
  std::vector<MemoryChange> changes;
  spans.ForEach(rank, [&](const TaskSpan& span) {
    if (!role.task(span.task).has_memory_effects) return;
    for (const MemoryEffect& effect : role.memory_effects(span.task)) {
      const bool is_start = effect.when == MemoryEffect::When::kStart;
      changes.push_back({is_start ? span.started : span.ended, is_start,
                         static_cast<size_t>(effect.kind), effect.change});
    }
  });
  std::stable_sort(changes.begin(), changes.end(),
                   [](const MemoryChange& a, const MemoryChange& b) {
                     return std::tie(a.at, a.is_start) <
                            std::tie(b.at, b.is_start);
                   });
  return changes;
}

}  // namespace orrery
