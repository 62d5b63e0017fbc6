#pragma once
// All-to-all with a traffic matrix: rank s sends amounts[s * ranks + d] to rank
// d, in any unit. The bytes of the call are those of one unit.
#include <absl/types/span.h>

#include "topology/collectives/collective.h"

namespace orrery {

// All pairs at once; pairs without traffic send nothing. Requires: ranks^2
// amounts, none negative, one off the diagonal > 0.
Schedule TrafficSchedule(int32_t ranks, absl::Span<const double> amounts);

}  // namespace orrery
