#pragma once
// Rows of a sweep as CSV records, and its summary as tables that people read.
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <string>

#include "run/search/study.h"
#include "run/search/sweep.h"
#include "run/search/sweep_summary.h"

namespace orrery {

// "point,tensor,pipeline,problem,step_time_s", without a line break.
std::string SweepHeader(const Study& study);
// One record; ParseSweepRecord gives the row back, to the last bit.
std::string SweepRecord(const SweepRow& row);
absl::StatusOr<SweepRow> ParseSweepRecord(const Study& study,
                                          const std::string& record);

// A row as an object of JSON, on one line.
std::string SweepJson(const SweepRow& row);

std::string SweepText(const Study& study, const SweepSummary& summary,
                      absl::Span<const SweepRow> simulated);

}  // namespace orrery
