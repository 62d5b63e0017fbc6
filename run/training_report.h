#pragma once
// What a report says of a training step besides what it says of any run.
#include <string>
#include <vector>

#include "base/units.h"
#include "proto/report.pb.h"
#include "topology/machine/system.h"
#include "workload/model/model.h"
#include "workload/plan/training_plan.h"

namespace orrery {

// Tokens, model FLOPs and their shares of the peak, of a step of `step_s`
// seconds.
void FillTrainingThroughput(const Model& model, const System& system,
                            const TrainingPlan& plan, double step_s,
                            Flops recomputed, pb::Report& report);

// What of the plan is unusual enough to be said.
std::vector<std::string> TrainingWarnings(const TrainingPlan& plan,
                                          const System& system);

}  // namespace orrery
