#pragma once
// Predictions of inference against published measurements.
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "accuracy/table/accuracy_table.h"
#include "accuracy/table/measurement_table.h"

namespace orrery {

AccuracyTable PredictInference(const MeasurementTable& table,
                               const MeasurementTable& systems);

// Of the user's file, or of validation/inference.csv.
absl::StatusOr<AccuracyTable> RunInferenceSuite(
    const std::optional<std::string>& file);

}  // namespace orrery
