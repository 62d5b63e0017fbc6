#pragma once
// The result of a search for plans as a table that people read.
#include <absl/types/span.h>

#include <string>

#include "proto/search.pb.h"

namespace orrery {

// `scenario` and `sets` are what was typed, for the line to use the best plan.
std::string TuningText(const pb::Tuning& tuning, const std::string& scenario,
                       absl::Span<const std::string> sets);

// A line for each term, "  bubble   1.2 s  0.8 s  +0.4 s": what the first has,
// what the second has, and the difference. Small ones are summed up.
std::string DifferencesText(
    const google::protobuf::RepeatedPtrField<pb::Difference>& differences,
    double step_s);

}  // namespace orrery
