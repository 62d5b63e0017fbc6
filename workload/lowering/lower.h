#pragma once
// Lowering: one optimizer step of a plan as a program.
//
//   ASSIGN_OR_RETURN(const LoweredStep step,
//                    LowerStep(model, plan, timer, {.fold = true}));
//   Simulate(step.program, ...)
//
// There is a role per pipeline rank and class of ranks that do the same (see
// RankClasses: one, unless experts get different loads). Folded, one rank
// stands for all ranks of its role: they do the same at the same time as long
// as nothing tells them apart. `groups` says who really takes part in each
// group of the program, for whoever plans transfers: a folded group has one
// simulated member of each class in it and stands for all groups like it in its
// stage.
#include <absl/status/statusor.h>

#include <optional>
#include <vector>

#include "base/ids.h"
#include "topology/traffic/expert_traffic.h"
#include "workload/lowering/pass_template.h"
#include "workload/plan/placement.h"
#include "workload/plan/training_plan.h"
#include "workload/program/placed_group.h"
#include "workload/program/program.h"

namespace orrery {

struct LowerOptions {
  PassOptions pass = {};
  bool fold = true;
};

// Solo time of the kernels of one role.
struct RoleWork {
  int pipeline = 0;
  int64_t ranks = 0;    // that play it
  WorkSplit step;       // all passes
  WorkSplit optimizer;  // the end of the step
};

struct LoweredStep {
  Program program;
  IdVector<GroupId, PlacedGroup> groups;
  std::vector<RoleWork> work;  // by role
  bool folded = false;
  // How tokens travel in calls that are routed.
  std::optional<ExpertTraffic> traffic = std::nullopt;
};

absl::StatusOr<LoweredStep> LowerStep(const Model& model,
                                      const TrainingPlan& plan, OpTimer timer,
                                      const LowerOptions& options);

}  // namespace orrery
