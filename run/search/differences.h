#pragma once
// What makes two answers differ, term by term.
#include <vector>

#include "proto/report.pb.h"
#include "proto/search.pb.h"

namespace orrery {

// The terms of two breakdowns that are not the same, the largest difference
// first; they sum to the difference of the step times.
std::vector<pb::Difference> Differences(const pb::Report& first,
                                        const pb::Report& second);

// Fills in whether simulation ranks the plans of a tuning otherwise than the
// closed form, and what the best has over what was said and over the second.
void CompareBest(pb::Tuning& tuning);

}  // namespace orrery
