#pragma once
// ResolvedScenario: what the user asked for, resolved and valid: messages as
// values, and a plan of one kind or another.
#include <absl/status/statusor.h>

#include <optional>
#include <variant>

#include "proto/scenario.pb.h"
#include "topology/machine/kernels.h"
#include "topology/machine/system.h"
#include "workload/model/model.h"
#include "workload/plan/inference_plan.h"
#include "workload/plan/training_plan.h"

namespace orrery {

// A machine with the kernels of its chips.
struct PoolMachine {
  System system;
  Kernels kernels;
};

struct ResolvedScenario {
  pb::Scenario proto;  // every default visible
  Model model;
  System system;
  Kernels kernels;
  std::variant<TrainingPlan, InferencePlan> plan;
  // Where prompts are processed, if not on `system`.
  std::optional<PoolMachine> prefill = std::nullopt;

  // Nothing if it is a plan of another kind.
  const TrainingPlan* training() const {
    return std::get_if<TrainingPlan>(&plan);
  }
  const InferencePlan* inference() const {
    return std::get_if<InferencePlan>(&plan);
  }
  // Of matrix products.
  DType precision() const {
    return std::visit([](const auto& p) { return p.precision(); }, plan);
  }
};

// A machine of a resolved message, with so many nodes instead of its own; the
// engine of `inference` may add an all-reduce to what its library has.
absl::StatusOr<System> SystemOf(const pb::System& system,
                                const pb::Inference& inference,
                                std::optional<int> nodes = std::nullopt);

// A resolved message as values. The error lists everything that is wrong.
absl::StatusOr<ResolvedScenario> MakeScenario(pb::Scenario proto);

}  // namespace orrery
