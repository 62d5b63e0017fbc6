#pragma once
// A number of a report, by the name it has in JSON.
#include <absl/status/status.h>
#include <absl/types/span.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/report.pb.h"
#include "run/expression.h"

namespace orrery {

// "step_time_s", "breakdown.bubble_s", "memory.fits" (1 or 0). Nothing if there
// is no such field, it is no number, or it is not set.
std::optional<double> ReportValue(const pb::Report& report,
                                  std::string_view name);

// The names that there are.
const std::vector<std::string>& ReportNames();

// An error with the nearest names if the expression uses one that is neither of
// these nor of a report: asked before any work is done for it.
absl::Status CheckNames(const Expression& expression,
                        absl::Span<const std::string> others = {});

}  // namespace orrery
