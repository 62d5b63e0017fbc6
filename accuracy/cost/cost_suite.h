#pragma once
// The cost suite: outputs of published cost models, and published bills,
// against ours.
//
// Chiplet Actuary and CATCH are reproduced with their own parameters, to one
// part in a thousand million; closed forms and Google's dies to the digits
// their sources print. Bills of accelerators, clusters and training runs are
// outsiders' estimates: they are held to 30 %.
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "accuracy/table/accuracy_table.h"
#include "accuracy/table/measurement_table.h"

namespace orrery {

// Rows whose model or case is not known are refused with the reason.
absl::StatusOr<AccuracyTable> PredictCosts(const MeasurementTable& table);

// The same for the user's file if there is one, else validation/cost.csv.
absl::StatusOr<AccuracyTable> RunCostSuite(
    const std::optional<std::string>& file);

}  // namespace orrery
