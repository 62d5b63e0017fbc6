#pragma once
// A scenario from the command line, resolved and valid.
#include <absl/status/statusor.h>

#include <optional>

#include "cli/command.h"
#include "proto/scenario.pb.h"
#include "topology/machine/kernels.h"
#include "topology/machine/system.h"
#include "workload/model/model.h"
#include "workload/plan/inference_plan.h"
#include "workload/plan/training_plan.h"

namespace orrery {

struct ResolvedScenario {
  pb::Scenario proto;  // every default visible
  Model model;
  System system;
  Kernels kernels;
  // Exactly one of the two.
  std::optional<TrainingPlan> training;
  std::optional<InferencePlan> inference;
};

// --set, which every command that takes a scenario has.
Flag SetFlag();

// A resolved message as values. The error lists everything that is wrong.
absl::StatusOr<ResolvedScenario> MakeScenario(pb::Scenario proto);

// The first operand, with the --set flags applied. The error lists everything
// that is wrong with the scenario.
absl::StatusOr<ResolvedScenario> LoadScenario(const Arguments& arguments);

}  // namespace orrery
