#pragma once
// Results to standard output, diagnostics to standard error.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include "cli/flags/command.h"

namespace orrery {

// Writes all of `text`, or says why it could not (a full disk, a closed pipe).
absl::StatusOr<ExitCode> Print(absl::string_view text);

// One line for people, after "orrery: ". Nobody is told if it cannot be read.
void Say(absl::string_view line);

}  // namespace orrery
