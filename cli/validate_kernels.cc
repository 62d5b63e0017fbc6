// orrery validate kernels: measured kernels against the chips' models.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "accuracy/gemm_profile.h"
#include "accuracy/kernel_accuracy.h"
#include "accuracy/kernel_measurement.h"
#include "accuracy/validation_data.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "cli/chip.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/validate_suites.h"
#include "cli/validation_table.h"

namespace orrery {
namespace {

struct Predictions {
  std::vector<KernelPrediction> rows;
  std::vector<std::string> refused;
};

absl::StatusOr<HarnessTimers> TimersOf(const std::string& chip,
                                       absl::string_view library) {
  ASSIGN_OR_RETURN(const ChipWithKernels on, LoadChip(chip, library, {}));
  return HarnessTimers::Create(on.chip, on.kernels);
}

// With each chip's default kernels, or with `library` where it is not empty.
Predictions PredictAll(const KernelMeasurements& measurements,
                       absl::string_view library) {
  Predictions result;
  result.refused = measurements.refused;
  std::map<std::string, absl::StatusOr<HarnessTimers>> timers;
  for (const KernelMeasurement& row : measurements.rows) {
    auto found = timers.find(row.chip);
    if (found == timers.end()) {
      found = timers.emplace(row.chip, TimersOf(row.chip, library)).first;
    }
    if (!found->second.ok()) {
      result.refused.push_back(
          fmt::format("{}: {}", row.id, found->second.status().message()));
      continue;
    }
    const HarnessTimers& chip_timers = *found->second;
    const auto& fitted = chip_timers.sustained.chip().constants.fitted_rows;
    result.rows.push_back(
        {&row, Predict(row, chip_timers),
         std::find(fitted.begin(), fitted.end(), row.id) != fitted.end()});
  }
  return result;
}

std::string Percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string RowTable(const Predictions& predictions) {
  std::string text =
      fmt::format("{:<10} {:<12} {:<34} {:>12} {:>12} {:>9}\n", "row", "chip",
                  "kernel", "measured us", "predicted us", "error");
  for (const KernelPrediction& p : predictions.rows) {
    text += fmt::format(
        "{:<10} {:<12} {:<34} {:>12.2f} {:>12.2f} {:>+8.1f} %{}\n", p.row->id,
        p.row->chip, p.row->what, p.row->seconds * 1e6,
        p.predicted_seconds * 1e6, 100 * p.error(), p.fitted ? " fitted" : "");
  }
  return text + "\n";
}

std::string Summary(const std::vector<AccuracyGroup>& groups, bool markdown) {
  std::string text;
  if (markdown) {
    text =
        "| chip | kernels | rows | of them fitted | median | held-out median "
        "| 90th percentile | worst | bar | |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n";
  } else {
    text =
        fmt::format("{:<12} {:<28} {:>5} {:>7} {:>8} {:>9} {:>8} {:>8} {:>7}\n",
                    "chip", "kernels", "rows", "fitted", "median", "held out",
                    "p90", "worst", "bar");
  }
  for (const AccuracyGroup& g : groups) {
    const std::string held_out =
        g.held_out_median.has_value() ? Percent(*g.held_out_median) : "-";
    const std::string bar = g.bar.has_value() ? Percent(*g.bar) : "-";
    const char* verdict = g.met() ? "met" : "missed";
    text +=
        markdown
            ? fmt::format(
                  "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                  g.chip, g.what, g.rows, g.fitted, Percent(g.median), held_out,
                  Percent(g.ninetieth), Percent(g.worst), bar, verdict)
            : fmt::format(
                  "{:<12} {:<28} {:>5} {:>7} {:>8} {:>9} {:>8} {:>8} {:>7} "
                  "{}\n",
                  g.chip, g.what, g.rows, g.fitted, Percent(g.median), held_out,
                  Percent(g.ninetieth), Percent(g.worst), bar, verdict);
  }
  return text;
}

std::string Json(const Predictions& predictions,
                 const std::vector<AccuracyGroup>& groups) {
  std::string text = "{\n  \"suite\": \"kernels\",\n  \"groups\": [";
  const char* separator = "\n";
  for (const AccuracyGroup& g : groups) {
    text += fmt::format(
        "{}    {{\"chip\": {}, \"kernels\": {}, \"rows\": {}, \"fitted\": {}, "
        "\"median\": {}, \"held_out_median\": {}, \"p90\": {}, \"worst\": {}, "
        "\"bar\": {}, \"met\": {}}}",
        separator, JsonString(g.chip), JsonString(g.what), g.rows, g.fitted,
        JsonNumber(g.median),
        g.held_out_median.has_value() ? JsonNumber(*g.held_out_median) : "null",
        JsonNumber(g.ninetieth), JsonNumber(g.worst),
        g.bar.has_value() ? JsonNumber(*g.bar) : "null", g.met());
    separator = ",\n";
  }
  text += "\n  ],\n  \"rows\": [";
  separator = "\n";
  for (const KernelPrediction& p : predictions.rows) {
    text += fmt::format(
        "{}    {{\"id\": {}, \"chip\": {}, \"kernel\": {}, \"measured_s\": {}, "
        "\"predicted_s\": {}, \"error\": {}, \"fitted\": {}}}",
        separator, JsonString(p.row->id), JsonString(p.row->chip),
        JsonString(p.row->what), JsonNumber(p.row->seconds),
        JsonNumber(p.predicted_seconds), JsonNumber(p.error()), p.fitted);
    separator = ",\n";
  }
  text += "\n  ],\n  \"refused\": [";
  separator = "\n";
  for (const std::string& line : predictions.refused) {
    text += fmt::format("{}    {}", separator, JsonString(line));
    separator = ",\n";
  }
  return text + "\n  ]\n}\n";
}

// The profiled products, each with its own tile and clock, level by level.
absl::StatusOr<std::string> TrafficSummary(absl::string_view library) {
  ASSIGN_OR_RETURN(const CsvTable table,
                   CsvTable::Parse(ValidationText("gemm_a100_nsight.csv")));
  ASSIGN_OR_RETURN(const ChipWithKernels on,
                   LoadChip("a100_sxm_80", library, {}));
  ASSIGN_OR_RETURN(const std::vector<GemmProfile> profiles,
                   ReadGemmProfiles(table, on.chip.compute_units()));
  std::vector<double> read, written, memory, time;
  for (const GemmProfile& profile : profiles) {
    if (profile.vector()) continue;
    ASSIGN_OR_RETURN(const ProfileError error,
                     CompareProfile(profile, on.chip, on.kernels));
    read.push_back(std::abs(error.cache_read));
    written.push_back(std::abs(error.cache_written));
    memory.push_back(std::abs(error.memory_read));
    time.push_back(std::abs(error.time));
  }
  std::string text = fmt::format(
      "\nprofiled products on an A100, {} of {} (the others are vectors)\n"
      "{:<28} {:>8} {:>8} {:>8}\n",
      read.size(), profiles.size(), "", "median", "p90", "worst");
  const auto line = [&](const char* what, const std::vector<double>& errors) {
    text += fmt::format(
        "{:<28} {:>8} {:>8} {:>8}\n", what, Percent(Percentile(errors, 0.5)),
        Percent(Percentile(errors, 0.9)), Percent(Percentile(errors, 1)));
  };
  line("bytes read from the L2", read);
  line("bytes written to the L2", written);
  line("bytes read from memory", memory);
  line("time", time);
  return text;
}

}  // namespace

absl::StatusOr<ExitCode> ValidateKernels(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const ValidationTable table,
                   OpenValidationTable(arguments, "kernels.csv"));
  auto harnesses = CsvTable::Parse(ValidationText("harnesses.csv"));
  RETURN_IF_ERROR(harnesses.status());
  const KernelMeasurements measurements =
      ReadKernelMeasurements(table.rows, *harnesses);
  const std::string library = arguments.Get("library").value_or("");
  if (!library.empty()) RETURN_IF_ERROR(Catalog().Kernels(library).status());
  const Predictions predictions = PredictAll(measurements, library);
  const std::vector<AccuracyGroup> groups = SummariseAccuracy(predictions.rows);
  const bool met = std::all_of(groups.begin(), groups.end(),
                               [](const AccuracyGroup& g) { return g.met(); });
  const ExitCode code =
      met && !predictions.rows.empty() ? ExitCode::kDone : ExitCode::kNo;
  if (const auto json = arguments.Get("json")) {
    RETURN_IF_ERROR(WriteFile(*json, Json(predictions, groups)));
    return code;
  }
  std::string out;
  if (arguments.Has("rows")) out += RowTable(predictions);
  out += Summary(groups, arguments.Has("markdown"));
  if (!arguments.Has("markdown")) {
    out += RefusedText(predictions.rows.size(), predictions.refused);
  }
  if (arguments.positional().size() < 2 && !arguments.Has("markdown")) {
    ASSIGN_OR_RETURN(const std::string traffic, TrafficSummary(library));
    out += traffic;
  }
  RETURN_IF_ERROR(Print(out).status());
  return code;
}

}  // namespace orrery
