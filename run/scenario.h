#pragma once
// A scenario as values, valid.
//
//   ASSIGN_OR_RETURN(pb::Scenario proto, ResolveScenario(Catalog(), name, {}));
//   ASSIGN_OR_RETURN(const ResolvedScenario s, MakeScenario(std::move(proto)));
#include <absl/status/statusor.h>

#include <optional>

#include "proto/scenario.pb.h"
#include "topology/machine/system.h"
#include "workload/model/model.h"
#include "workload/plan/inference_plan.h"
#include "workload/plan/training_plan.h"

namespace orrery {

struct ResolvedScenario {
  pb::Scenario proto;  // every default visible
  Model model;
  System system;
  // Exactly one of the two.
  std::optional<TrainingPlan> training;
  std::optional<InferencePlan> inference;
};

// A resolved message as values. The error lists everything that is wrong.
absl::StatusOr<ResolvedScenario> MakeScenario(pb::Scenario proto);

}  // namespace orrery
