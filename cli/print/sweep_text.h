#pragma once
// Rows of a sweep as JSON, and its summary as tables that people read.
#include <absl/types/span.h>

#include <string>

#include "run/search/study.h"
#include "run/search/sweep_row.h"
#include "run/search/sweep_summary.h"

namespace orrery {

// A row as an object of JSON, on one line.
std::string SweepJson(const SweepRow& row);

std::string SweepText(const Study& study, const SweepSummary& summary,
                      absl::Span<const SweepRow> simulated);

}  // namespace orrery
