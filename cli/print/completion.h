#pragma once
// The commands as scripts that complete them in a shell, and as a manual page:
// made from what the commands say of themselves, so that they cannot disagree
// with --help.
#include <absl/types/span.h>

#include <functional>
#include <string>
#include <vector>

#include "cli/flags/command.h"

namespace orrery {

// Names that may stand in the place of an operand ("SCENARIO", "[SYSTEM]");
// none where only files make sense.
using OperandNames =
    std::function<std::vector<std::string>(absl::string_view operands)>;

std::string BashCompletion(absl::Span<const Command> commands,
                           const OperandNames& names);
std::string ZshCompletion(absl::Span<const Command> commands,
                          const OperandNames& names);
std::string FishCompletion(absl::Span<const Command> commands,
                           const OperandNames& names);

// orrery(1), for man.
std::string ManualPage(absl::Span<const Command> commands,
                       absl::string_view version);

}  // namespace orrery
