#pragma once
// The training suite: published training steps against simulated ones.
//
// Groups are the sources; the selective-recomputation rows of Korthikanti et
// al. are a group of their own besides. That source has the bars: the mean and
// the worst error of Calculon on its eight rows.
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "accuracy/accuracy_table.h"
#include "accuracy/measurement_table.h"

namespace orrery {

// Each row is run as a scenario, or refused (see training_row.h). Rows run in
// parallel; the result does not depend on that.
AccuracyTable PredictTraining(const MeasurementTable& table,
                              const MeasurementTable& systems);

// The same for the user's file if there is one, else validation/training.csv.
absl::StatusOr<AccuracyTable> RunTrainingSuite(
    const std::optional<std::string>& file);

}  // namespace orrery
