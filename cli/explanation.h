#pragma once
// Why a step takes as long as it does: from a recorded run to an answer.
#include <absl/types/span.h>

#include <string>

#include "cli/scenario.h"
#include "cli/sensitivities.h"
#include "proto/explanation.pb.h"
#include "run/training_step.h"

namespace orrery {

// Requires: `run` was recorded.
pb::Explanation Explain(const ResolvedScenario& scenario,
                        const TrainingRun& run,
                        absl::Span<const StepSensitivity> sensitivities);

// The explanation as tables that people read; ends with a newline.
std::string ExplanationText(const pb::Explanation& explanation);

}  // namespace orrery
