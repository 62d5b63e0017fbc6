#pragma once
// ElementOf: what the elements of a training step's calls are, by the program's
// name for a call, where one name stands for one kind of element.
//
// Nothing for calls of which some carry others: a ring takes gradients in FP32
// along on its way back, tokens that travel in FP8 have scales beside them, and
// without sequence parallelism sums of activations and of losses are
// all-reduces both.
#include <optional>
#include <string_view>

#include "workload/model/op.h"
#include "workload/plan/training_plan.h"

namespace orrery {

std::optional<DType> ElementOf(const TrainingPlan& plan, std::string_view call);

}  // namespace orrery
