#pragma once
// Lowering: one optimizer step of a plan as a program.
//
//   ASSIGN_OR_RETURN(const LoweredStep step,
//                    LowerStep(model, plan, timer, {.fold = true}));
//   Simulate(step.program, ...)
//
// There is a role per pipeline rank; ranks of the same pipeline rank share it.
// Folded, one rank stands for all ranks of its pipeline rank: they do the same
// at the same time as long as nothing tells them apart. `groups` says who
// really takes part in each group of the program, for whoever plans transfers:
// a folded group has one simulated member and stands for all groups of its
// family in its stage.
#include <absl/status/statusor.h>

#include <vector>

#include "base/ids.h"
#include "workload/pass_template.h"
#include "workload/placement.h"
#include "workload/plan.h"
#include "workload/program.h"

namespace orrery {

struct LowerOptions {
  PassOptions pass = {};
  bool fold = true;
};

// A group of the program as it is on the machine. Ranks are chips.
struct StepGroup {
  // In the order of the group; a channel's sender, then its receiver.
  std::vector<int> members;
  // All groups that run the same calls at the same time because the program
  // simulates one of them for all; the group itself first. Only itself where
  // nothing is folded.
  std::vector<std::vector<int>> together;
};

// Solo time of the kernels of one pipeline rank.
struct RoleWork {
  WorkSplit step;       // all passes
  WorkSplit optimizer;  // the end of the step
};

struct LoweredStep {
  Program program;
  IdVector<GroupId, StepGroup> groups;
  std::vector<RoleWork> work;  // by pipeline rank
  bool folded = false;
};

absl::StatusOr<LoweredStep> LowerStep(const Model& model, const Plan& plan,
                                      OpTimer timer,
                                      const LowerOptions& options);

}  // namespace orrery
