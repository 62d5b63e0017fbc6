// orrery validate training: published steps against simulated ones.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/csv.h"
#include "base/file.h"
#include "base/format.h"
#include "base/parallel.h"
#include "base/status.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/training_row.h"
#include "cli/validate_suites.h"
#include "cli/validation_table.h"
#include "run/training_step.h"

namespace orrery {
namespace {

// What the eight rows of Korthikanti et al. are held to: the mean and the worst
// error of Calculon on them.
constexpr char kBarSource[] = "korthikanti22";
constexpr double kMeanBar = 0.036;
constexpr double kWorstBar = 0.089;

struct Prediction {
  TrainingRow row;
  double step_s = 0;
  double memory_gib = 0;  // without what the run-time reserves
  double error() const { return step_s / row.measured_s - 1; }
};

struct Predictions {
  std::vector<Prediction> rows;
  std::vector<std::string> refused;
};

absl::StatusOr<Prediction> Predict(const CsvTable::Row& row) {
  ASSIGN_OR_RETURN(TrainingRow read, ReadTrainingRow(row));
  const ResolvedScenario& s = read.scenario;
  ASSIGN_OR_RETURN(
      const TrainingRun run,
      RunTrainingStep(s.model, s.system, s.kernels, *s.training, {}));
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  return Prediction{
      .row = std::move(read),
      .step_s = ToSeconds(run.result.end),
      .memory_gib = static_cast<double>(run.memory.peak.total.value()) / kGiB};
}

Predictions PredictAll(const CsvTable& table) {
  std::vector<absl::StatusOr<Prediction>> predicted(table.rows().size());
  InParallel(predicted.size(),
             [&](size_t i) { predicted[i] = Predict(table.rows()[i]); });
  Predictions result;
  for (size_t i = 0; i < predicted.size(); ++i) {
    const CsvTable::Row& row = table.rows()[i];
    auto& prediction = predicted[i];
    if (prediction.ok()) {
      result.rows.push_back(*std::move(prediction));
    } else {
      result.refused.push_back(fmt::format(
          "line {} ({}): {}", row.line(), row.Get("id").value_or("no id"),
          std::string(prediction.status().message())));
    }
  }
  return result;
}

// Absolute errors of a set of rows.
struct Accuracy {
  size_t rows = 0;
  double mean = 0;
  double median = 0;
  double worst = 0;
  double bias = 0;
};

Accuracy Measure(const std::vector<const Prediction*>& rows) {
  Accuracy a{.rows = rows.size()};
  std::vector<double> errors;
  for (const Prediction* p : rows) {
    errors.push_back(std::abs(p->error()));
    a.bias += p->error() / static_cast<double>(rows.size());
    a.mean += std::abs(p->error()) / static_cast<double>(rows.size());
  }
  std::sort(errors.begin(), errors.end());
  if (errors.empty()) return a;
  a.median = errors[errors.size() / 2];
  a.worst = errors.back();
  return a;
}

std::map<std::string, Accuracy> BySource(const Predictions& predictions) {
  std::map<std::string, std::vector<const Prediction*>> sets;
  for (const Prediction& p : predictions.rows) {
    sets[p.row.source].push_back(&p);
    if (p.row.source == kBarSource && p.row.selective) {
      sets[fmt::format("{}, selective rows", kBarSource)].push_back(&p);
    }
  }
  std::map<std::string, Accuracy> result;
  for (const auto& [name, rows] : sets) result[name] = Measure(rows);
  return result;
}

std::string RowTable(const Predictions& predictions) {
  std::string text = fmt::format(
      "{:<8} {:<28} {:<44} {:>9} {:>9} {:>8} {:>8} {:>8}\n", "row", "model",
      "plan", "measured", "predicted", "error", "GiB", "ours");
  for (const Prediction& p : predictions.rows) {
    text += fmt::format(
        "{:<8} {:<28} {:<44} {:>7.2f} s {:>7.2f} s {:>+6.1f} % {:>8} "
        "{:>8.2f}\n",
        p.row.id, p.row.model, p.row.plan, p.row.measured_s, p.step_s,
        100 * p.error(),
        p.row.memory_gib ? fmt::format("{:.2f}", *p.row.memory_gib) : "-",
        p.memory_gib);
  }
  return text + "\n";
}

std::string Summary(const Predictions& predictions, bool markdown) {
  std::string text =
      markdown ? "| source | rows | mean | median | worst | bias |\n"
                 "|---|---|---|---|---|---|\n"
               : fmt::format("{:<34} {:>5} {:>8} {:>8} {:>8} {:>8}\n", "source",
                             "rows", "mean", "median", "worst", "bias");
  for (const auto& [name, a] : BySource(predictions)) {
    text += fmt::format(
        fmt::runtime(markdown ? "| {} | {} | {:.1f} % | {:.1f} % | {:.1f} % | "
                                "{:+.1f} % |\n"
                              : "{:<34} {:>5} {:>6.1f} % {:>6.1f} % {:>6.1f} % "
                                "{:>+6.1f} %\n"),
        name, a.rows, 100 * a.mean, 100 * a.median, 100 * a.worst,
        100 * a.bias);
  }
  return text;
}

std::string Json(const Predictions& predictions) {
  std::string text = "{\"rows\": [";
  for (size_t i = 0; i < predictions.rows.size(); ++i) {
    const Prediction& p = predictions.rows[i];
    text += fmt::format(
        "{}\n  {{\"id\": {}, \"source_id\": {}, \"measured_s\": {}, "
        "\"predicted_s\": {}, \"error\": {}, \"memory_gib\": {}}}",
        i == 0 ? "" : ",", JsonString(p.row.id), JsonString(p.row.source),
        JsonNumber(p.row.measured_s), JsonNumber(p.step_s),
        JsonNumber(p.error()), JsonNumber(p.memory_gib));
  }
  text += "\n],\n\"refused\": [";
  for (size_t i = 0; i < predictions.refused.size(); ++i) {
    text += fmt::format("{}\n  {}", i == 0 ? "" : ",",
                        JsonString(predictions.refused[i]));
  }
  return text + "\n]}\n";
}

}  // namespace

absl::StatusOr<ExitCode> ValidateTraining(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const ValidationTable table,
                   OpenValidationTable(arguments, "training.csv"));
  const Predictions predictions = PredictAll(table.rows);
  if (const auto json = arguments.Get("json")) {
    RETURN_IF_ERROR(WriteFile(*json, Json(predictions)));
  } else {
    std::string out;
    if (arguments.Has("rows")) out += RowTable(predictions);
    out += Summary(predictions, arguments.Has("markdown"));
    for (const std::string& refused : predictions.refused) {
      out += fmt::format("not predicted: {}\n", refused);
    }
    RETURN_IF_ERROR(Print(out).status());
  }
  const auto accuracy = BySource(predictions);
  const auto held = accuracy.find(kBarSource);
  if (held == accuracy.end()) return ExitCode::kDone;
  return held->second.mean <= kMeanBar && held->second.worst <= kWorstBar
             ? ExitCode::kDone
             : ExitCode::kNo;
}

}  // namespace orrery
