#pragma once
// A row of a sweep: one point of a study, worked out. As a line of text it is
// what journals keep, and what processes that share a sweep send one another.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/search/study.h"

namespace orrery {

struct SweepRow {
  int64_t point = 0;
  // Of each axis.
  std::vector<std::string> values;
  // Why there is no answer, "does not fit into memory"; empty if there is one.
  // What stands before the first ':' is the kind of problem.
  std::string problem;
  // Of each column of the study; none if there is a problem.
  std::vector<double> columns;
  // "measured", "near" or "extrapolated", and the error to expect, if measured
  // runs are near (accuracy/trust/trust.h); empty if there is a problem.
  std::string trust = {};
  std::optional<double> trust_error = std::nullopt;
};

// How the problem of a point begins whose answer has not every number that the
// study asks for.
inline constexpr char kLacksNumber[] = "the answer has no number ";

// "point,tensor,pipeline,problem,step_time_s,trust,trust_error", without a line
// break.
std::string SweepHeader(const Study& study);
// One record of CSV, a line; ParseSweepRecord gives the row back, to the last
// bit.
std::string SweepRecord(const SweepRow& row);
absl::StatusOr<SweepRow> ParseSweepRecord(const Study& study,
                                          absl::string_view record);

}  // namespace orrery
