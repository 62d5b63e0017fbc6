#pragma once
// Predictions of rows of published cost models, one function per source.
//
// Inputs are read generally, never by row: any row of the same model and case
// can be predicted. The error says what is missing or not modelled.
#include <absl/status/statusor.h>

#include "accuracy/cost/cost_row.h"
#include "cost/silicon/actuary.h"
#include "cost/silicon/catch_model.h"

namespace orrery {

absl::StatusOr<double> PredictActuary(const Actuary& actuary,
                                      const CostRow& row);
absl::StatusOr<double> PredictCatch(const CatchModel& model,
                                    const CostRow& row);
// google/chiplets-cost-model: dies.
absl::StatusOr<double> PredictGoogle(const CostRow& row);
// ttm-cas, rapidchiplet, closed forms of yields, geometry.
absl::StatusOr<double> PredictClosedForm(const CostRow& row);
// Bills of accelerators, clusters, runs and hours, carbon: by the catalogue.
absl::StatusOr<double> PredictBill(const CostRow& row);

}  // namespace orrery
