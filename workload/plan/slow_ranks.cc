#include "workload/plan/slow_ranks.h"

#include <algorithm>
#include <map>

namespace orrery {

std::vector<SlowRank> SlowRanks(const System& system,
                                const Placement& placement) {
  std::vector<SlowRank> slow;
  if (system.slow_chips().empty()) return slow;
  std::map<int, double> of_chip;
  for (const SlowChip& each : system.slow_chips()) {
    if (each.slowdown > 1) of_chip[each.chip] = each.slowdown;
  }
  for (int rank = 0; rank < placement.ranks(); ++rank) {
    const auto found = of_chip.find(placement.ChipOf(rank));
    if (found != of_chip.end()) slow.push_back({rank, found->second});
  }
  return slow;
}

std::vector<RankMark> MarksOf(absl::Span<const SlowRank> slow) {
  std::map<double, int> numbers;
  std::vector<RankMark> marks;
  for (const SlowRank& each : slow) {
    const int next = static_cast<int>(numbers.size());
    marks.push_back(
        {.rank = each.rank,
         .mark = numbers.try_emplace(each.slowdown, next).first->second});
  }
  return marks;
}

std::vector<double> SlowestOfPipelineRanks(absl::Span<const SlowRank> slow,
                                           const Placement& placement,
                                           size_t pipeline_ranks) {
  std::vector<double> slowest(pipeline_ranks, 1);
  for (const SlowRank& each : slow) {
    double& of = slowest[static_cast<size_t>(
        placement.CoordinatesOf(each.rank).pipeline)];
    of = std::max(of, each.slowdown);
  }
  return slowest;
}

double SlowdownOf(int rank, absl::Span<const SlowRank> slow) {
  const auto found = std::lower_bound(
      slow.begin(), slow.end(), rank,
      [](const SlowRank& each, int of) { return each.rank < of; });
  return found != slow.end() && found->rank == rank ? found->slowdown : 1;
}

}  // namespace orrery
