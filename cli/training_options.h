#pragma once
// Flags and options that the commands on training scenarios have in common.
#include <absl/status/statusor.h>

#include <vector>

#include "cli/command.h"
#include "cli/scenario.h"
#include "proto/report.pb.h"
#include "run/training_step.h"

namespace orrery {

// --set, --json, --fidelity, --fold, --kernels, --progress.
std::vector<Flag> TrainingFlags();

// From the flags, else from the scenario.
absl::StatusOr<TrainingOptions> ReadTrainingOptions(
    const Arguments& arguments, const ResolvedScenario& scenario);

// An internal error if a simulated step lies outside its bounds.
absl::Status CheckBounds(const pb::Report& report);

// OK for training; one line that says what is missing for inference.
absl::Status RequireTraining(const ResolvedScenario& scenario);

}  // namespace orrery
