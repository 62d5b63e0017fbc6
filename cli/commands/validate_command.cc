// orrery validate: predictions against measurements.
#include <absl/strings/str_join.h>

#include <optional>
#include <string>
#include <vector>

#include "accuracy/collectives/collective_suite.h"
#include "accuracy/cost/cost_suite.h"
#include "accuracy/inference/inference_suite.h"
#include "accuracy/kernels/kernel_calibration.h"
#include "accuracy/kernels/kernel_suite.h"
#include "accuracy/table/accuracy_report.h"
#include "accuracy/table/accuracy_table.h"
#include "accuracy/training/left_out.h"
#include "accuracy/training/training_suite.h"
#include "accuracy/trust/error_groups.h"
#include "base/check.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/nearest.h"
#include "catalog/preset_file.h"
#include "cli/commands/commands.h"
#include "cli/flags/chip_flags.h"
#include "cli/page/answer.h"
#include "cli/print/accuracy_text.h"
#include "cli/print/csv.h"
#include "cli/print/output.h"

namespace orrery {
namespace {

absl::StatusOr<AccuracyTable> RunSuite(Suite suite,
                                       const std::optional<std::string>& file,
                                       const std::string& library,
                                       bool closed_form) {
  switch (suite) {
    case Suite::kCollectives:
      return RunCollectiveSuite(file);
    case Suite::kKernels:
      return RunKernelSuite(file, library);
    case Suite::kTraining:
      return RunTrainingSuite(file, {.closed_form = closed_form});
    case Suite::kCost:
      return RunCostSuite(file);
    case Suite::kInference:
      return RunInferenceSuite(file);
  }
  CHECK(false) << "no such suite";
  return absl::InternalError("");
}

// The suite that was named, or all of them.
absl::StatusOr<std::vector<Suite>> ChosenSuites(const Arguments& arguments) {
  if (arguments.positional().empty()) {
    return std::vector<Suite>(std::begin(kSuites), std::end(kSuites));
  }
  const std::string& name = arguments.positional()[0];
  std::vector<std::string> names;
  for (const Suite suite : kSuites) {
    if (Name(suite) == name) return std::vector<Suite>{suite};
    names.emplace_back(Name(suite));
  }
  const std::string shown = Excerpt(name);
  return absl::InvalidArgumentError(fmt::format(
      "there is no suite '{}'{}{} (suites: {})", shown, DidYouMean(name, names),
      LooksLikePath(name)
          ? fmt::format("; a file stands after its suite, as in 'orrery "
                        "validate training {}'",
                        shown)
          : "",
      absl::StrJoin(names, ", ")));
}

// Every source of the kernel table with constants fitted without it.
absl::StatusOr<ExitCode> LeaveOut(const std::optional<std::string>& file) {
  ASSIGN_OR_RETURN(const MeasurementTable table, OpenKernelTable(file));
  ASSIGN_OR_RETURN(const MeasurementTable harnesses, OpenHarnessTable());
  ASSIGN_OR_RETURN(
      const std::vector<LeftOut> sources,
      LeaveSourcesOut(ReadKernelMeasurements(table, harnesses).rows));
  std::string text = fmt::format("{:<16}{:<30}{:>6}{:>10}{:>16}\n", "chip",
                                 "source", "rows", "mean", "fitted without");
  for (const LeftOut& source : sources) {
    text +=
        fmt::format("{:<16}{:<30}{:>6}{:>8.1f} %{:>16}\n", source.chip,
                    source.source, source.rows, 100 * source.mean,
                    source.refitted_mean.has_value()
                        ? fmt::format("{:.1f} %", 100 * *source.refitted_mean)
                        : "no other source");
  }
  return Print(text);
}

// Every source of the training table with constants fitted without it.
absl::StatusOr<ExitCode> LeaveStepsOut(const TrainingSuiteOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<LeftOutSource> sources,
                   LeaveTrainingSourcesOut(options));
  std::string text =
      fmt::format("{:<26}{:>6}{:>10}{:>16}  {}\n", "source", "rows", "mean",
                  "fitted without", "constants fitted on it");
  for (const LeftOutSource& source : sources) {
    text += fmt::format(
        "{:<26}{:>6}{:>8.1f} %{:>14.1f} %  {}\n", source.source, source.rows,
        100 * source.mean, 100 * source.without,
        source.fitted.empty() ? "none" : absl::StrJoin(source.fitted, ", "));
  }
  return Print(text);
}

// Which constants the rows of the table itself had a part in.
std::string FitsText() {
  std::string text = "\nfitted on whole steps:\n";
  for (const FrameworkFit& fit : FrameworkFits()) {
    text += fmt::format("  {} of {}, on {}\n", absl::StrJoin(fit.fields, ", "),
                        fit.framework, fit.rows);
  }
  return text + "kernels and collectives are fitted on tables of their own\n";
}

// Every row of every suite.
std::string RowsCsv(const pb::AccuracyReport& report) {
  std::vector<const google::protobuf::Message*> rows;
  for (const pb::AccuracySuite& suite : report.suites()) {
    for (const auto& row : suite.rows()) rows.push_back(&row);
  }
  return TableCsv(rows);
}

// The errors by kind of run; those of requests with the rows that no constant
// was chosen on.
absl::Status WriteErrors(const AccuracyTable& table,
                         const std::optional<std::string>& file,
                         const std::string& path) {
  std::vector<const AccuracyTable*> tables = {&table};
  std::optional<AccuracyTable> held_out;
  if (table.suite() == Suite::kInference && !file) {
    ASSIGN_OR_RETURN(held_out, RunHeldOutInference());
    tables.push_back(&*held_out);
  }
  return WriteFile(path, ErrorsCsv(GroupErrors(tables)));
}

absl::StatusOr<ExitCode> Validate(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const std::vector<Suite> suites, ChosenSuites(arguments));
  const std::string library = arguments.Get("library").value_or("");
  if (!library.empty() && suites != std::vector<Suite>{Suite::kKernels}) {
    return absl::InvalidArgumentError(
        "--library is for 'orrery validate kernels'");
  }
  const bool trains = suites == std::vector<Suite>{Suite::kTraining};
  if (!trains && arguments.Has("closed-form")) {
    return absl::InvalidArgumentError(
        "--closed-form is for 'orrery validate training'");
  }
  if (!trains && suites != std::vector<Suite>{Suite::kInference} &&
      arguments.Has("errors")) {
    return absl::InvalidArgumentError(
        "--errors is for 'orrery validate training' and 'orrery validate "
        "inference'");
  }
  if (arguments.Has("leave-out")) {
    RETURN_IF_ERROR(RefuseFlags(
        arguments, {"rows", "errors", "markdown", "json", "csv", "html"},
        "--leave-out, which prints a table of its own"));
  }
  if (arguments.Has("json") || arguments.Has("csv")) {
    RETURN_IF_ERROR(RefuseFlags(arguments, {"rows", "markdown"},
                                "--json and --csv, which have every row"));
  }
  std::optional<std::string> file;
  if (arguments.positional().size() > 1) file = arguments.positional()[1];
  if (arguments.Has("leave-out")) {
    if (trains && !file) {
      return LeaveStepsOut({.closed_form = arguments.Has("closed-form")});
    }
    if (suites != std::vector<Suite>{Suite::kKernels} || !library.empty()) {
      return absl::InvalidArgumentError(
          "--leave-out is for 'orrery validate kernels' without --library, and "
          "for 'orrery validate training' without a file");
    }
    return LeaveOut(file);
  }
  const std::optional<std::string> json = arguments.Get("json");
  const std::optional<std::string> csv = arguments.Get("csv");
  const bool files = json || csv || arguments.Has("html");
  const std::optional<std::string> errors = arguments.Get("errors");
  const AccuracyTextOptions options{.rows = arguments.Has("rows"),
                                    .markdown = arguments.Has("markdown")};
  bool met = true;
  pb::AccuracyReport report;
  for (const Suite suite : suites) {
    ASSIGN_OR_RETURN(
        const AccuracyTable table,
        RunSuite(suite, file, library, arguments.Has("closed-form")));
    met = met && table.met();
    if (errors) RETURN_IF_ERROR(WriteErrors(table, file, *errors));
    if (files) *report.add_suites() = ToProto(table);
    // As it was: files instead of tables, but for a page, which is beside them.
    if (json.has_value() || csv.has_value()) continue;
    std::string text = AccuracyText(table, options);
    if (suite == Suite::kKernels && !file.has_value() && !options.markdown) {
      ASSIGN_OR_RETURN(const ProfileAccuracy profiles,
                       CompareProfiles(library));
      text += ProfileText(profiles);
    }
    if (suite == Suite::kTraining && !file.has_value() && !options.markdown) {
      text += FitsText();
    }
    RETURN_IF_ERROR(Print(text).status());
  }
  if (files) {
    report.set_met(met);
    RETURN_IF_ERROR(WriteAnswer(
                        arguments, report, [&] { return RowsCsv(report); },
                        [&] {
                          pb::Page page;
                          *page.mutable_accuracy() = report;
                          return page;
                        })
                        .status());
  }
  return met ? ExitCode::kDone : ExitCode::kNo;
}

}  // namespace

Command ValidateCommand() {
  return {
      .name = "validate",
      .operands = "[SUITE] [FILE]",
      .min_operands = 0,
      .max_operands = 2,
      .summary = "Compare predictions with measurements.",
      .details =
          "Predicts every row of a table of measurements and prints how "
          "far off it is, group\nby group. FILE is your own table with "
          "the columns of the one that came with\nOrrery (see "
          "validation/README.md): found by name, in any order; others are "
          "refused.\nRows that cannot be read or predicted are listed with "
          "the reason. Exit code 1 if a\nbar is missed or no row could be "
          "predicted, 2 if FILE is no table of the suite.\n\n"
          "  orrery validate collectives\n"
          "  orrery validate kernels\n"
          "  orrery validate training --rows\n"
          "  orrery validate inference\n"
          "  orrery validate cost\n"
          "  orrery validate kernels mine.csv --rows\n"
          "  orrery validate kernels --library hopper_trtllm_2025",
      .flags = {LibraryFlag(),
                {.name = "rows",
                 .value = "",
                 .help = "print every row, not only the summary"},
                {.name = "leave-out",
                 .value = "",
                 .help = "kernels, training: print how each source fares "
                         "with constants fitted without it"},
                {.name = "closed-form",
                 .value = "",
                 .help = "training: by the closed form, without simulating"},
                {.name = "errors",
                 .value = "FILE",
                 .help = "training, inference: write mean errors by kind of "
                         "run"},
                {.name = "markdown",
                 .value = "",
                 .help = "print Markdown tables"},
                {.name = "json",
                 .value = "FILE",
                 .help = "write JSON to FILE instead (- is stdout)"},
                {.name = "csv",
                 .value = "FILE",
                 .help = "write every row as CSV instead (- is stdout)"},
                HtmlFlag()},
      .run = Validate};
}

}  // namespace orrery
