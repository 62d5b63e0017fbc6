#pragma once
// A chip from the command line: a preset's name and --set of its fields.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <string>

#include "cli/command.h"
#include "topology/machine/chip.h"

namespace orrery {

absl::StatusOr<Chip> LoadChip(absl::string_view name,
                              absl::Span<const std::string> sets);

// --set for commands that take a chip.
Flag SetChipFlag();

}  // namespace orrery
