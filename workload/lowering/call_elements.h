#pragma once
// ElementOf: what the elements of a program's calls are.
//
// Of a call that carries several kinds, the one that most of its bytes are of:
// tokens that travel in FP8 have scales beside them, and a ring takes gradients
// in FP32 along on its way back.
#include <absl/types/span.h>

#include <optional>
#include <string_view>

#include "workload/model/layer_shape.h"
#include "workload/model/op.h"
#include "workload/plan/training_plan.h"
#include "workload/program/communication.h"
#include "workload/program/task.h"

namespace orrery {

// A call as a program has it.
struct ProgramCall {
  std::string_view name;
  WorkPhase phase = WorkPhase::kOther;
  Communication what = {};
  // All calls of its role with its group: tokens on their way to experts are
  // told from those on their way back by each other.
  absl::Span<const Communication> of_group = {};
};

// Of what layers and stages exchange; nothing for other calls.
std::optional<DType> ElementOf(const LayerShape& shape,
                               const ProgramCall& call);
// The same, and gradients and parameters.
std::optional<DType> ElementOf(const TrainingPlan& plan,
                               const ProgramCall& call);

}  // namespace orrery
