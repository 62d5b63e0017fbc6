#include "workload/plan/waited_exchanges.h"

namespace orrery {

DimensionSet WaitedExchanges(const TrainingPlan& plan, DimensionSet waited) {
  const bool direct = plan.layout().dispatch_method == DispatchMethod::kDirect;
  const bool apart = plan.schedule() == PipelineSchedule::kDualPipe;
  if (plan.degrees().expert == 1 || !direct || apart) return waited;
  return waited.With(Dimension::kExpert);
}

}  // namespace orrery
