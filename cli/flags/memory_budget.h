#pragma once
// How much memory a command may take: --memory, by default half of the
// machine's (or of what the control group allows, if that is less).
//
// Runs that would take more are refused before they start, with the numbers
// (run/run_size.h). Whatever a prediction misses meets the limit of the process
// that HoldMemory sets: the program then says so and ends with exit code 2; it
// never drives the machine into swapping.
#include <absl/status/statusor.h>

#include "base/units.h"
#include "cli/flags/command.h"

namespace orrery {

Flag MemoryFlag();

// What is there: physical memory, or the limit of the control group.
Bytes MachineMemory();

// --memory if it is given, else half of what is there.
absl::StatusOr<Bytes> ReadMemoryBudget(const Arguments& arguments);

// No allocation of this process succeeds beyond the budget.
void HoldMemory(Bytes budget);

}  // namespace orrery
