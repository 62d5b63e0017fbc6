#include "sim/analysis/memory_peaks.h"

namespace orrery {

MemoryPeaks MemoryPeaksOf(const PlacedProgram& placed,
                          const RunResult& result) {
  const Program& program = placed.program;
  MemoryPeaks memory;
  for (const RankId rank : program.ranks().ids()) {
    const MemoryPeak& peak = result.ranks[rank].memory;
    const auto stage =
        static_cast<size_t>(placed.work[program.ranks()[rank].role].pipeline);
    if (stage >= memory.stages.size()) memory.stages.resize(stage + 1);
    if (peak.total > memory.stages[stage].total) memory.stages[stage] = peak;
    if (peak.total <= memory.peak.total) continue;
    memory.peak = peak;
    memory.rank = program.ranks()[rank].number;
    memory.pipeline = static_cast<int>(stage);
  }
  return memory;
}

}  // namespace orrery
