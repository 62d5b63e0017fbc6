#pragma once
// SlowStages: the kernels of pipeline ranks that have a slow chip.
//
// All ranks of a pipeline rank wait for the one with most work: a slow chip, or
// a chip at full speed with the fullest experts, which the slow one need not
// have. A stage that two ranks hold, as those of a bidirectional pipeline do,
// counts as on the slower. Where each rank is looked at by itself (RankClock)
// it is not asked: who waits for whom follows.
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
  // `make` gives the units of a plan at the prices of the moment, of ranks at a
  // place of their expert groups; `fullest` is that of the fullest experts.
  using Make = absl::FunctionRef<std::unique_ptr<PlanUnits>(int place)>;
  SlowStages(absl::Span<const SlowRank> slow, const Placement& placement,
             const StageLayout& layout, PriceList& prices, int fullest,
             Make make);

  bool empty() const { return slowdowns_.empty(); }
  // Of its slowest chip.
  double SlowdownOf(int pipeline_rank) const {
    return empty() ? 1 : slowdowns_[static_cast<size_t>(pipeline_rank)];
  }
  // Or `units`, if no chip is slow.
  const PlanUnits& UnitsOf(int pipeline_rank, const PlanUnits& units) const {
    return empty() ? units : *units_[static_cast<size_t>(pipeline_rank)];
  }

 private:
  std::vector<double> slowdowns_;  // by pipeline rank, as are the next
  std::vector<const PlanUnits*> units_;
  std::vector<std::unique_ptr<PlanUnits>> made_;
};

}  // namespace orrery
