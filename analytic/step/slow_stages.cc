#include "analytic/step/slow_stages.h"

#include <algorithm>

namespace orrery {

SlowStages::SlowStages(absl::Span<const SlowRank> slow,
                       const Placement& placement, const StageLayout& layout,
                       PriceList& prices,
                       absl::FunctionRef<std::unique_ptr<PlanUnits>()> make) {
  if (slow.empty()) return;
  std::vector<double> of_stage(static_cast<size_t>(layout.stages()), 1);
  const std::vector<double> of_rank = SlowestOfPipelineRanks(
      slow, placement, static_cast<size_t>(layout.ranks()));
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    for (int piece = 0; piece < layout.pieces(); ++piece) {
      double& of = of_stage[static_cast<size_t>(layout.StageOf(rank, piece))];
      of = std::max(of, of_rank[static_cast<size_t>(rank)]);
    }
  }
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    double& of = slowdowns_.emplace_back(1);
    for (int piece = 0; piece < layout.pieces(); ++piece) {
      of = std::max(of,
                    of_stage[static_cast<size_t>(layout.StageOf(rank, piece))]);
    }
  }
  const double of_all = prices.slowness();
  for (const double slowdown : slowdowns_) {
    prices.SetSlowness(of_all * slowdown);
    units_.push_back(make());
  }
  prices.SetSlowness(of_all);
}

}  // namespace orrery
