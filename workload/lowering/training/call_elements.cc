#include "workload/lowering/training/call_elements.h"

#include "workload/plan/memory.h"
#include "workload/plan/stage.h"

namespace orrery {

std::optional<DType> ElementOf(const TrainingPlan& plan,
                               std::string_view call) {
  const LayerShape shape = ShapeOf(plan);
  if (call == "gradient_norm") return DType::kFp32;
  if (call == "reduce_gradients" || call == "tied_embedding") {
    return plan.gradient_precision();
  }
  if (call == "gather_parameters") {
    return WeightBytes(plan) == 4 ? DType::kFp32 : shape.activation;
  }
  if (call == "all_gather" || call == "reduce_scatter" || call == "send" ||
      call == "receive") {
    return shape.activation;
  }
  if (call == "all_reduce" && shape.sequence_parallel) return DType::kFp32;
  if (call == "all_to_all" && shape.dispatch == shape.activation) {
    return shape.activation;
  }
  return std::nullopt;
}

}  // namespace orrery
