#pragma once
// Flags of commands that take a chip: --library and --set.
#include "cli/flags/command.h"

namespace orrery {

Flag LibraryFlag();
Flag SetChipFlag();

}  // namespace orrery
