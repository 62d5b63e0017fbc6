#pragma once
// Whether an op is of a size that can be timed at all.
//
// Sizes from outside (a flag, a table) can multiply to more bytes than an
// int64_t holds or to more seconds than a Duration does. Everything the layers
// build for a valid model and plan is far below.
#include <absl/status/status.h>

#include "workload/model/op.h"

namespace orrery {

// The error says what is too large.
absl::Status CheckSize(const Op& op);

}  // namespace orrery
