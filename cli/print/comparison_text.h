#pragma once
// Answers side by side, as tables that people read or as CSV.
#include <string>

#include "proto/search.pb.h"

namespace orrery {

// What of two answers differs, and why. Small terms are summed up.
std::string ComparisonText(const pb::Comparison& comparison);

// "field,A,B": every number.
std::string ComparisonCsv(const pb::Comparison& comparison);

}  // namespace orrery
