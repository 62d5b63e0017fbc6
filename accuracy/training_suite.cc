#include "accuracy/training_suite.h"

#include <utility>
#include <vector>

#include "accuracy/training_row.h"
#include "base/parallel.h"
#include "base/status.h"
#include "run/run_scenario.h"

namespace orrery {
namespace {

constexpr char kBarSource[] = "korthikanti22";
constexpr double kMeanBar = 0.036;
constexpr double kWorstBar = 0.089;
constexpr double kGiB = 1024.0 * 1024 * 1024;

GroupKey SourceOf(const MeasurementRow& row) {
  return {.subject = row.Text("source_id"), .part = ""};
}

absl::StatusOr<AccuracyRow> PredictRow(const MeasurementRow& row,
                                       const MeasurementTable& systems) {
  ASSIGN_OR_RETURN(TrainingRow read, ReadTrainingRow(row, systems));
  ASSIGN_OR_RETURN(const SimulatedRun run, RunScenario(read.scenario, {}));
  AccuracyRow result{
      .id = row.id(),
      .line = row.line(),
      .source = row.Text("source_id"),
      .measured = read.measured_s,
      .predicted = ToSeconds(run.result.end),
      .groups = {SourceOf(row)},
      .facts = MeasuredStep{
          .model = std::move(read.model),
          .plan = std::move(read.plan),
          .measured_gib = read.memory_gib,
          .predicted_gib =
              static_cast<double>(run.memory.peak.total.value()) / kGiB}};
  if (result.source == kBarSource && read.selective) {
    result.groups.push_back(
        {.subject = result.source, .rank = 1, .part = "selective rows"});
  }
  return result;
}

}  // namespace

AccuracyTable PredictTraining(const MeasurementTable& table,
                              const MeasurementTable& systems) {
  const std::vector<MeasurementRow>& rows = table.rows();
  std::vector<absl::StatusOr<AccuracyRow>> predicted(rows.size());
  InParallel(rows.size(),
             [&](size_t i) { predicted[i] = PredictRow(rows[i], systems); });
  AccuracyTable::Parts parts{.suite = Suite::kTraining,
                             .origin = table.origin(),
                             .rows = {},
                             .refused = {}};
  for (const RefusedRow& row : table.malformed()) {
    parts.refused.push_back({row});
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (predicted[i].ok()) {
      parts.rows.push_back(*std::move(predicted[i]));
    } else {
      parts.refused.push_back(
          {rows[i].Refused(predicted[i].status()), {SourceOf(rows[i])}});
    }
  }
  parts.bars[{.subject = kBarSource, .part = ""}] = {.mean = kMeanBar,
                                                     .worst = kWorstBar};
  return AccuracyTable(std::move(parts));
}

absl::StatusOr<AccuracyTable> RunTrainingSuite(
    const std::optional<std::string>& file) {
  ASSIGN_OR_RETURN(const MeasurementTable table, OpenTrainingTable(file));
  ASSIGN_OR_RETURN(const MeasurementTable systems, OpenTrainingSystems());
  return PredictTraining(table, systems);
}

}  // namespace orrery
