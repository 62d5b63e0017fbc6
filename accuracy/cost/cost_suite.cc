#include "accuracy/cost/cost_suite.h"

#include <absl/strings/match.h>

#include <cmath>
#include <utility>

#include "accuracy/cost/cost_models.h"
#include "accuracy/cost/cost_row.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"

namespace orrery {
namespace {

// Outputs are published with ten digits.
constexpr double kModelBar = 1e-9;
// Outsiders' estimates of one thing differ by this much.
constexpr double kBillBar = 0.30;
constexpr double kHourBar = 0.15;

// A source of rows: who predicts them, and how closely.
struct Source {
  std::string name;
  int rank = 0;
  // Compared after rounding to the digits that are printed.
  bool as_printed = false;
  std::optional<double> worst;
};

Source SourceOf(const CostRow& row) {
  const auto is = [&](const char* name) {
    return absl::StrContains(row.model, name);
  };
  if (is("Chiplet Actuary")) return {"Chiplet Actuary", 0, false, kModelBar};
  if (is("CATCH")) return {"CATCH", 1, false, kModelBar};
  if (is("chiplets-cost-model")) {
    return {"google/chiplets-cost-model", 2, true, kModelBar};
  }
  if (row.kase == "yield_models" || is("ttm-cas") || is("rapidchiplet") ||
      is("geometry") || is("ACT") || row.quantity == "switches" ||
      row.quantity == "non_GPU_BOM") {
    const bool bill = is("ACT") || is("sheet") || is("SemiAnalysis");
    return {bill ? "sums and counts" : "closed forms", bill ? 4 : 3, true,
            kModelBar};
  }
  // Parts of a bill differ more than the whole: who counts what is not said.
  const bool whole = absl::StartsWith(row.quantity, "total") ||
                     row.kase == "training_run" || row.kase == "cluster_capex";
  if (row.kase == "TCO" && whole)
    return {"published hours", 5, false, kHourBar};
  return {whole ? "published bills" : "parts of published bills", whole ? 5 : 6,
          false, whole ? std::optional<double>(kBillBar) : std::nullopt};
}

absl::StatusOr<double> Predict(const CostRow& row, const Source& source,
                               const Actuary& actuary,
                               const CatchModel& model) {
  switch (source.rank) {
    case 0:
      return PredictActuary(actuary, row);
    case 1:
      return PredictCatch(model, row);
    case 2:
      return PredictGoogle(row);
    case 3:
      return PredictClosedForm(row);
    default:
      return PredictBill(row);
  }
}

}  // namespace

absl::StatusOr<AccuracyTable> PredictCosts(const MeasurementTable& table) {
  const Catalog catalog;
  ASSIGN_OR_RETURN(const pb::ActuaryParameters actuary_parameters,
                   catalog.Actuary("chiplet_actuary"));
  ASSIGN_OR_RETURN(const Actuary actuary,
                   Actuary::FromProto(actuary_parameters));
  ASSIGN_OR_RETURN(const pb::CatchParameters catch_parameters,
                   catalog.Catch("catch"));
  ASSIGN_OR_RETURN(const CatchModel model,
                   CatchModel::FromProto(catch_parameters));
  const auto read = ReadMeasurements<CostRow>(table, ReadCostRow);
  AccuracyTable::Parts parts{.suite = Suite::kCost,
                             .origin = table.origin(),
                             .rows = {},
                             .refused = {}};
  for (const RefusedRow& row : read.refused) parts.refused.push_back({row});
  for (const CostRow& row : read.rows) {
    const Source source = SourceOf(row);
    const GroupKey all{.subject = source.name, .rank = 0, .part = ""};
    const GroupKey part{.subject = source.name, .rank = 1, .part = row.kase};
    absl::StatusOr<double> value = Predict(row, source, actuary, model);
    if (value.ok() && !std::isfinite(*value)) {
      value = absl::InvalidArgumentError(
          "inputs are beyond what the model has an answer for");
    }
    if (!value.ok()) {
      parts.refused.push_back(
          {{row.line, row.id, std::string(value.status().message())},
           {all, part}});
      continue;
    }
    for (const GroupKey& key : {all, part}) {
      parts.bars[key].worst = source.worst;
    }
    parts.rows.push_back(
        {.id = row.id,
         .line = row.line,
         .source = row.model,
         .measured = row.expected,
         .predicted = source.as_printed ? RoundedLike(*value, row.expected_text)
                                        : *value,
         .groups = {all, part},
         .facts = MeasuredCost{.model = source.name,
                               .inputs = row.inputs.text(),
                               .quantity = row.quantity,
                               .unit = row.unit}});
  }
  return AccuracyTable(std::move(parts));
}

absl::StatusOr<AccuracyTable> RunCostSuite(
    const std::optional<std::string>& file) {
  ASSIGN_OR_RETURN(const MeasurementTable table,
                   MeasurementTable::Open(file, "cost.csv",
                                          {"source_model", "case", "inputs",
                                           "quantity", "expected"}));
  return PredictCosts(table);
}

}  // namespace orrery
