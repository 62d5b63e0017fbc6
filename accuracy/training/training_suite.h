#pragma once
// The training suite: published training steps against simulated ones.
//
// Groups are the sources, all dense models, all mixtures of experts, and the
// parts of the sweep; the selective-recomputation rows of Korthikanti et al.
// are a group of their own besides. Rows of the sweep that ran out of memory
// count as right or wrong by what was predicted of memory.
#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "accuracy/table/accuracy_table.h"
#include "accuracy/table/measurement_table.h"
#include "accuracy/training/training_rules.h"

namespace orrery {

struct TrainingSuiteOptions {
  // Steps and memory by the closed form instead of a simulation: a hundred
  // times as fast, and a little further off.
  bool closed_form = false;
  // Without the constants that were fitted on the row's own source
  // (left_out.h).
  bool leave_out = false;
};

// Each row is run as a scenario, or refused (see training_row.h). Rows run in
// parallel; the result does not depend on that.
AccuracyTable PredictTraining(const std::vector<MeasurementTable>& tables,
                              const TrainingRules& rules,
                              const TrainingSuiteOptions& options = {});

// The same for the user's file if there is one, else validation/training.csv
// and the sweep.
absl::StatusOr<AccuracyTable> RunTrainingSuite(
    const std::optional<std::string>& file,
    const TrainingSuiteOptions& options = {});

}  // namespace orrery
