#pragma once
// The suites of `orrery validate`. Each is defined in validate_<name>.cc.
#include <absl/status/statusor.h>

#include "cli/command.h"

namespace orrery {

// Every row of a table of collectives against its prediction.
absl::StatusOr<ExitCode> ValidateCollectives(const Arguments& arguments);

// Every row of a table of kernel timings against its prediction.
absl::StatusOr<ExitCode> ValidateKernels(const Arguments& arguments);

// Every row of a table of training runs against its simulated step.
absl::StatusOr<ExitCode> ValidateTraining(const Arguments& arguments);

}  // namespace orrery
