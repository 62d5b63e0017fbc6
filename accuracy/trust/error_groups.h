#pragma once
// How far measured runs of one kind were from their predictions.
//
// The errors of the suites of whole steps and of requests are kept as tables,
// validation/training_errors.csv and validation/inference_errors.csv, which
// `orrery validate training --errors FILE` and `orrery validate inference
// --errors FILE` write. So an answer can say how far such answers were off
// without running a suite again.
#include <absl/types/span.h>

#include <set>
#include <string>
#include <vector>

#include "accuracy/table/accuracy_table.h"
#include "accuracy/table/run_kind.h"

namespace orrery {

// Runs alike in chip, system, software, experts and precision. The sizes and
// the schedule of `kind` are unset: the runs lie between `least` and `most` and
// had one of `schedules`.
struct ErrorGroup {
  RunKind kind;
  RunSizes least = {};
  RunSizes most = {};
  std::set<std::string> schedules = {};
  int rows = 0;
  double mean = 0;  // of absolute errors
  double bias = 0;  // of signed ones
};

// The tables that came with the program.
const std::vector<ErrorGroup>& TrainingErrors();
const std::vector<ErrorGroup>& InferenceErrors();

// A mean error of fewer rows says nothing.
inline constexpr int kRowsNeeded = 5;

// All rows of some groups; `kind` is unset.
ErrorGroup Pool(absl::Span<const ErrorGroup* const> groups);

// The groups of suites of steps, or of requests. Times of the sweep over
// several nodes are not in it, as others used its fabric too.
std::vector<ErrorGroup> GroupErrors(
    absl::Span<const AccuracyTable* const> tables);
std::string ErrorsCsv(absl::Span<const ErrorGroup> groups);

}  // namespace orrery
