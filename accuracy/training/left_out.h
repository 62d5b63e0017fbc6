#pragma once
// Leaving a source out: what the steps of a source come to with constants that
// were not fitted on it.
//
// Constants of frameworks that were fitted on whole steps say so where presets
// cite their sources: one whose title begins with "Fitted on" names the table
// or the source of the rows and, in `covers`, the fields. Without that source
// nothing is left to fit these on (no other source runs the same framework, or
// the fit would cite it too), so they are unset, as in a framework of which no
// step was ever seen. Everything else a step rests on is fitted on kernels and
// collectives, not on steps, and stays.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>
#include <vector>

#include "accuracy/table/accuracy_table.h"
#include "accuracy/training/training_suite.h"
#include "run/scenario.h"

namespace orrery {

// Fields of the scenario's framework that were fitted on steps of the source.
std::vector<std::string> FittedOn(const pb::Framework& framework,
                                  absl::string_view source);

// Of every framework of the catalogue, what was fitted on steps, and on which.
struct FrameworkFit {
  std::string framework;
  std::vector<std::string> fields;
  std::string rows;  // "validation/training_hf_sweep.csv"
};
std::vector<FrameworkFit> FrameworkFits();

// The scenario without them.
absl::StatusOr<ResolvedScenario> WithoutFits(const ResolvedScenario& scenario,
                                             absl::string_view source);

// A source's error with the constants as they are, and without those that were
// fitted on it.
struct LeftOutSource {
  std::string source;
  int rows = 0;
  double mean = 0;
  double without = 0;
  std::vector<std::string> fitted = {};  // names of what was unset
};

// Every source of the suite.
absl::StatusOr<std::vector<LeftOutSource>> LeaveTrainingSourcesOut(
    const TrainingSuiteOptions& options);

}  // namespace orrery
