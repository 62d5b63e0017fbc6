#pragma once
// Lowering: one optimizer step of a training plan as a placed program.
//
//   ASSIGN_OR_RETURN(const PlacedProgram placed,
//                    LowerTraining(model, plan, timer, {.fold = true}));
//   Simulate(placed.program, ...)
//
// Writes what every pipeline rank does (RoleWriter) and leaves ranks, groups
// and folding to the Assembler.
#include <absl/status/statusor.h>

#include <vector>

#include "workload/lowering/pass_template.h"
#include "workload/model/model.h"
#include "workload/plan/rank_classes.h"
#include "workload/plan/schedule.h"
#include "workload/plan/slow_ranks.h"
#include "workload/plan/training_plan.h"
#include "workload/program/placed_program.h"

namespace orrery {

struct LowerOptions {
  PassOptions pass = {};
  bool fold = true;
  // Ranks that are told apart where others are folded: slow ones, for example.
  std::vector<RankMark> marks = {};
  std::vector<SlowRank> slow = {};
  // What passes take, for schedules that are made from it.
  PassProfile profile = {};
};

absl::StatusOr<PlacedProgram> LowerTraining(const Model& model,
                                            const TrainingPlan& plan,
                                            OpTimer timer,
                                            const LowerOptions& options);

}  // namespace orrery
