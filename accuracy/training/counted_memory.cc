#include "accuracy/training/counted_memory.h"

#include "analytic/step/step_estimate.h"
#include "base/status.h"

namespace orrery {

absl::StatusOr<CountedMemory> ReadCountedMemory(const MeasurementRow& row) {
  if (!row.Has("mem_counts")) return CountedMemory::kTensors;
  return row.Choice<CountedMemory>("mem_counts",
                                   {{"tensors", CountedMemory::kTensors},
                                    {"layers", CountedMemory::kLayers},
                                    {"reserved", CountedMemory::kReserved},
                                    {"device", CountedMemory::kDevice}});
}

absl::StatusOr<Bytes> BytesOfEnds(const ResolvedScenario& scenario) {
  ASSIGN_OR_RETURN(
      StepEstimator estimator,
      StepEstimator::Create(scenario.model, scenario.system, scenario.kernels));
  const TrainingPlan& plan = *scenario.training();
  return estimator.Estimate(plan).peak -
         estimator.Estimate(plan, {.memory_of_layers = true}).peak;
}

}  // namespace orrery
