#pragma once
// SlowRanks: ranks whose chips are slower than others in this run.
//
//   const std::vector<SlowRank> slow = SlowRanks(system, placement);
//   MarksOf(slow)  // tells them apart where one rank stands for many
#include <absl/types/span.h>

#include <vector>

#include "topology/machine/system.h"
#include "workload/plan/placement.h"
#include "workload/plan/rank_classes.h"

namespace orrery {

// Its kernels take `slowdown` times as long.
struct SlowRank {
  int rank = 0;
  double slowdown = 1;
};

// By rank. Chips without a rank are left out.
std::vector<SlowRank> SlowRanks(const System& system,
                                const Placement& placement);

// Ranks that are slow alike have the same mark.
std::vector<RankMark> MarksOf(absl::Span<const SlowRank> slow);

// Of each pipeline rank the most, which all of it wait for.
std::vector<double> SlowestOfPipelineRanks(absl::Span<const SlowRank> slow,
                                           const Placement& placement,
                                           size_t pipeline_ranks);

// 1 if it is not among them.
double SlowdownOf(int rank, absl::Span<const SlowRank> slow);

}  // namespace orrery
