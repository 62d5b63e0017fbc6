#pragma once
// Predictions of inference against published measurements.
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "accuracy/inference/inference_row.h"
#include "accuracy/table/accuracy_table.h"
#include "accuracy/table/measurement_table.h"

namespace orrery {

AccuracyTable PredictInference(const MeasurementTable& table,
                               const InferenceRules& rules);

// Of the user's file, or of validation/inference.csv.
absl::StatusOr<AccuracyTable> RunInferenceSuite(
    const std::optional<std::string>& file);

// Of validation/inference_held_out.csv.
absl::StatusOr<AccuracyTable> RunHeldOutInference();

}  // namespace orrery
