#pragma once
// A number of a report, by the name it has in JSON.
#include <optional>
#include <string_view>

#include "proto/report.pb.h"

namespace orrery {

// "step_time_s", "breakdown.bubble_s", "memory.fits" (1 or 0). Nothing if there
// is no such field, it is no number, or it is not set.
std::optional<double> ReportValue(const pb::Report& report,
                                  std::string_view name);

}  // namespace orrery
