#pragma once
// SlowStages: the kernels of pipeline ranks that have a slow chip.
//
// All ranks of a pipeline rank wait for its slowest chip, so that its kernels
// count as they are there; a stage that two ranks hold, as those of a
// bidirectional pipeline do, counts as on the slower. Where each rank is looked
// at by itself (RankClock) it is not asked: who waits for whom follows.
#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <memory>
#include <vector>

#include "analytic/step/plan_units.h"
#include "analytic/step/price_list.h"
#include "workload/plan/slow_ranks.h"
#include "workload/plan/stage_layout.h"

namespace orrery {

class SlowStages {
 public:
  // All chips are alike.
  SlowStages() = default;
  // `make` gives the units of a plan at the prices of the moment.
  SlowStages(absl::Span<const SlowRank> slow, const Placement& placement,
             const StageLayout& layout, PriceList& prices,
             absl::FunctionRef<std::unique_ptr<PlanUnits>()> make);

  bool empty() const { return slowdowns_.empty(); }
  double SlowdownOf(int pipeline_rank) const {
    return empty() ? 1 : slowdowns_[static_cast<size_t>(pipeline_rank)];
  }
  // Or `units`, if no chip is slow.
  const PlanUnits& UnitsOf(int pipeline_rank, const PlanUnits& units) const {
    return empty() ? units : *units_[static_cast<size_t>(pipeline_rank)];
  }

 private:
  std::vector<double> slowdowns_;  // by pipeline rank, as are the next
  std::vector<std::unique_ptr<PlanUnits>> units_;
};

}  // namespace orrery
