#include "analytic/step/slow_stages.h"

#include <algorithm>

namespace orrery {

SlowStages::SlowStages(absl::Span<const SlowRank> slow,
                       const Placement& placement, int pipeline_ranks,
                       PriceList& prices,
                       absl::FunctionRef<std::unique_ptr<PlanUnits>()> make) {
  if (slow.empty()) return;
  slowdowns_.assign(static_cast<size_t>(pipeline_ranks), 1);
  for (const SlowRank& each : slow) {
    double& of = slowdowns_[static_cast<size_t>(
        placement.CoordinatesOf(each.rank).pipeline)];
    of = std::max(of, each.slowdown);
  }
  const double of_all = prices.slowness();
  for (const double slowdown : slowdowns_) {
    prices.SetSlowness(of_all * slowdown);
    units_.push_back(make());
  }
  prices.SetSlowness(of_all);
}

}  // namespace orrery
