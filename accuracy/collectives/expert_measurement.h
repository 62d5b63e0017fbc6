#pragma once
// Measured exchanges of tokens with experts (moe_dispatch, moe_combine).
//
// Such a row has no size: it says in its notes how many tokens of which width
// go to how many experts, and perhaps in how many groups of them ("4096
// tokens/GPU, hidden 7168, top-8 in top-4 groups"). Unless they say "64
// experts" there are as many as DeepSeek-V3 has. Kernels that its library calls
// "low-latency" send every copy by itself, the others a token to each node
// once.
//
// A bandwidth is that of DeepEP's tests: what chips get, their own tokens
// included, on several nodes what comes to a node, over the time.
#include <absl/status/statusor.h>

#include "accuracy/collectives/collective_measurement.h"
#include "accuracy/table/measurement_table.h"

namespace orrery {

bool IsExpertExchange(const MeasurementRow& row);

// Sets kind, bytes, seconds and the exchange of a row whose chips and nodes are
// read.
absl::Status ReadExpertExchange(const MeasurementRow& row,
                                CollectiveMeasurement* to);

}  // namespace orrery
