#pragma once
// The defaults of a scenario, made visible.
//
// Choices that are left open get a stated default, which `orrery show` prints
// like everything else: degrees of 1, the data degree that uses the remaining
// chips, 1F1B, flash attention, and so on. Physical quantities never have a
// default: they stay unset, and validation says so.
#include <cstdint>
#include <vector>

#include "proto/scenario.pb.h"

namespace orrery {

// Changes only what is unset; doing it twice changes nothing.
void FillDefaults(pb::Scenario* scenario);
// The same of a training plan alone, for the scenario's model, machine and
// framework.
void FillTrainingDefaults(const pb::Scenario& scenario, pb::Training* training);

// The most even factorisation of `count` into `dimensions` sides, smallest
// first: the largest divisor not above the root is taken for one side, then the
// same for the rest. The shape of a torus that is not given.
std::vector<int32_t> EvenShape(int64_t count, int dimensions);

}  // namespace orrery
