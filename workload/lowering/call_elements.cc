#include "workload/lowering/call_elements.h"

#include <algorithm>

#include "workload/model/token_bytes.h"
#include "workload/plan/memory.h"
#include "workload/plan/stage.h"

namespace orrery {
namespace {

// Tokens come back from experts as activations, all of them: who has a partner
// of so many bytes is on its way to them.
bool GoesToExperts(const LayerShape& shape, const ProgramCall& call) {
  return std::any_of(call.of_group.begin(), call.of_group.end(),
                     [&](const Communication& back) {
                       const int64_t elements =
                           back.bytes.value() * 8 / Bits(shape.activation);
                       return call.what.bytes < back.bytes &&
                              call.what.bytes ==
                                  TokenBytes(shape.dispatch, elements);
                     });
}

}  // namespace

std::optional<DType> ElementOf(const LayerShape& shape,
                               const ProgramCall& call) {
  if (call.name == "all_gather" || call.name == "reduce_scatter" ||
      call.name == "send" || call.name == "receive") {
    return shape.activation;
  }
  if (call.name == "ring") {
    return call.phase == WorkPhase::kBackward ? DType::kFp32 : shape.activation;
  }
  if (call.name == "all_reduce") {
    // Of losses one number a token.
    return call.what.bytes == StorageBytes(DType::kFp32, shape.tokens())
               ? DType::kFp32
               : shape.activation;
  }
  if (call.name == "all_to_all") {
    return shape.dispatch != shape.activation && GoesToExperts(shape, call)
               ? shape.dispatch
               : shape.activation;
  }
  return std::nullopt;
}

std::optional<DType> ElementOf(const TrainingPlan& plan,
                               const ProgramCall& call) {
  const LayerShape shape = ShapeOf(plan);
  if (call.name == "gradient_norm") return DType::kFp32;
  if (call.name == "reduce_gradients" || call.name == "tied_embedding") {
    return plan.gradient_precision();
  }
  if (call.name == "gather_parameters") {
    return WeightBytes(plan) == 4 ? DType::kFp32 : shape.activation;
  }
  return ElementOf(shape, call);
}

}  // namespace orrery
