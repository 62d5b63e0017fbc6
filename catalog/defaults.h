#pragma once
// The defaults of a scenario, made visible.
//
// Choices that are left open get a stated default, which `orrery show` prints
// like everything else: degrees of 1, the data degree that uses the remaining
// chips, 1F1B, flash attention, and so on. Physical quantities never have a
// default: they stay unset, and validation says so.
#include <cstdint>

#include "proto/scenario.pb.h"

namespace orrery {

// Changes only what is unset; doing it twice changes nothing.
void FillDefaults(pb::Scenario* scenario);
// The same of a training plan alone, on a machine of `chips` chips.
void FillTrainingDefaults(int64_t chips, pb::Training* training);

}  // namespace orrery
