#pragma once
// The memory of a run: of the rank that needs most, and of every pipeline rank.
#include <cstdint>
#include <vector>

#include "sim/engine/run_result.h"
#include "workload/program/placed_program.h"

namespace orrery {

struct MemoryPeaks {
  MemoryPeak peak;
  int32_t rank = 0;  // the user's number
  int pipeline = 0;
  // Of each pipeline rank, first to last, the largest.
  std::vector<MemoryPeak> stages = {};
};

MemoryPeaks MemoryPeaksOf(const PlacedProgram& placed, const RunResult& result);

}  // namespace orrery
