#pragma once
// A scenario from the command line.
#include <absl/status/statusor.h>

#include "cli/flags/command.h"
#include "run/scenario.h"

namespace orrery {

// --set, which every command that takes a scenario has.
Flag SetFlag();

// The first operand, with the --set flags applied. The error lists everything
// that is wrong with the scenario.
absl::StatusOr<ResolvedScenario> LoadScenario(const Arguments& arguments);

}  // namespace orrery
