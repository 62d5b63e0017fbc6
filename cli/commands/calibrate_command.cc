// orrery calibrate: fit the constants of kernels to measured ones.
#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/kernels/fit_doubts.h"
#include "accuracy/kernels/kernel_calibration.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/override.h"
#include "catalog/preset_file.h"
#include "catalog/textproto.h"
#include "cli/commands/commands.h"
#include "cli/flags/chip_flags.h"
#include "cli/page/answer.h"
#include "cli/print/json.h"
#include "cli/print/output.h"
#include "cli/print/preset_text.h"
#include "run/chip_with_kernels.h"

namespace orrery {
namespace {

// Constants of one library must not end up in the file of another.
absl::Status CheckIsPresetOf(const std::string& text, const std::string& file,
                             const pb::Kernels& fitted) {
  pb::Kernels kernels;
  RETURN_IF_ERROR(CheckMessageComment(text, file, *kernels.descriptor()));
  RETURN_IF_ERROR(ParseTextproto(text, file, &kernels));
  if (kernels.name() == fitted.name()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "--write {}: these are the kernels '{}', and '{}' were fitted; --library "
      "chooses others",
      file, kernels.name(), fitted.name()));
}

std::string_view KindName(FitDoubt::Kind kind) {
  switch (kind) {
    case FitDoubt::Kind::kAtLow:
      return "at_low";
    case FitDoubt::Kind::kAtHigh:
      return "at_high";
    case FitDoubt::Kind::kFlat:
      return "flat";
    case FitDoubt::Kind::kAlike:
      return "alike";
  }
  return "";
}

std::string FitJson(const std::string& kernels,
                    absl::Span<const FitConstant> before, const FitResult& fit,
                    absl::Span<const FitDoubt> doubts,
                    absl::Span<const std::string> rows) {
  std::vector<std::string> constants;
  for (size_t i = 0; i < fit.constants.size(); ++i) {
    const FitConstant& c = fit.constants[i];
    constants.push_back(fmt::format(
        "    {{\"name\": {}, \"value\": {}, \"was\": {}, \"low\": {}, "
        "\"high\": {}, \"unit\": {}}}",
        JsonString(c.name), JsonNumberText(c.value),
        JsonNumberText(before[i].value), JsonNumberText(c.low),
        JsonNumberText(c.high),
        JsonString(absl::StripAsciiWhitespace(UnitOfConstant(c.name)))));
  }
  std::vector<std::string> lines;
  for (const FitDoubt& doubt : doubts) {
    lines.push_back(fmt::format(
        "    {{\"kind\": \"{}\", \"constant\": {}{}}}", KindName(doubt.kind),
        JsonString(doubt.constant),
        doubt.other.empty() ? "" : ", \"other\": " + JsonString(doubt.other)));
  }
  std::vector<std::string> ids;
  for (const std::string& row : rows) ids.push_back(JsonString(row));
  return fmt::format(
      "{{\n  \"kernels\": {},\n  \"constants\": [\n{}\n  ],\n  \"doubts\": "
      "[{}{}{}],\n  \"loss_before\": {},\n  \"loss_after\": {},\n  "
      "\"evaluations\": {},\n  \"rows\": [{}]\n}}\n",
      JsonString(kernels), absl::StrJoin(constants, ",\n"),
      lines.empty() ? "" : "\n", absl::StrJoin(lines, ",\n"),
      lines.empty() ? "" : "\n  ", JsonNumberText(fit.loss_before),
      JsonNumberText(fit.loss_after), fit.evaluations,
      absl::StrJoin(ids, ", "));
}

absl::StatusOr<ExitCode> Calibrate(const Arguments& arguments) {
  const std::string& name = arguments.positional()[0];
  ASSIGN_OR_RETURN(
      const ChipProtos protos,
      LoadChipProtos(name, arguments.Get("library").value_or(""), {}));
  std::optional<std::string> own;
  if (arguments.positional().size() > 1) own = arguments.positional()[1];
  ASSIGN_OR_RETURN(const MeasurementTable table, OpenKernelTable(own));
  ASSIGN_OR_RETURN(const MeasurementTable harnesses, OpenHarnessTable());
  const KernelMeasurements measurements =
      ReadKernelMeasurements(table, harnesses);
  const std::vector<const KernelMeasurement*> rows =
      RowsToFit(measurements.rows, name);
  if (rows.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("no measured kernel of chip '{}' in the table", name));
  }
  const auto write = arguments.Get("write");
  if (write) {
    ASSIGN_OR_RETURN(const std::string preset, ReadFile(*write));
    RETURN_IF_ERROR(CheckIsPresetOf(preset, *write, protos.kernels));
  }
  ASSIGN_OR_RETURN(const KernelCalibration calibration,
                   CalibrateKernels(protos, rows));
  const FitResult& fit = calibration.fit;

  std::vector<std::string> ids;
  for (const KernelMeasurement* row : rows) ids.push_back(row->id);
  std::string out =
      fmt::format("# {}: {} rows of {} fitted: {}\n", protos.kernels.name(),
                  rows.size(), name, absl::StrJoin(ids, " "));
  std::vector<Override> changes;
  for (size_t i = 0; i < fit.constants.size(); ++i) {
    changes.push_back({fit.constants[i].name, ConstantText(fit.constants[i])});
    out +=
        fmt::format("{} = {}   # was {}\n", changes.back().path,
                    changes.back().value, ConstantText(calibration.before[i]));
  }
  out += fmt::format(
      "# mean error per class {:.2f} % -> {:.2f} %, {} evaluations\n",
      100 * fit.loss_before, 100 * fit.loss_after, fit.evaluations);
  ASSIGN_OR_RETURN(const std::vector<FitDoubt> doubts,
                   DoubtsOfFit(protos, rows, fit.constants));
  for (const FitDoubt& doubt : doubts) {
    out += fmt::format(
        "# doubt: {}\n",
        DoubtText(doubt, fmt::format("{:g}{}", doubt.value,
                                     UnitOfConstant(doubt.constant))));
  }
  if (write) {
    ASSIGN_OR_RETURN(const std::string preset, ReadFile(*write));
    std::erase_if(changes, [](const Override& change) {
      return !OfKernels(change.path);
    });
    ASSIGN_OR_RETURN(const std::string changed,
                     WithConstants(preset, changes, ids));
    RETURN_IF_ERROR(WriteFile(*write, changed));
  }
  ASSIGN_OR_RETURN(const bool print,
                   WriteRows(arguments,
                             FitJson(protos.kernels.name(), calibration.before,
                                     fit, doubts, ids),
                             "constants"));
  return print ? Print(out) : ExitCode::kDone;
}

}  // namespace

Command CalibrateCommand() {
  std::vector<Flag> flags = RowsFlags();
  flags.push_back(LibraryFlag());
  flags.push_back(
      {.name = "write",
       .value = "PRESET",
       .help = "put the constants and the ids into this kernels file"});
  return {.name = "calibrate",
          .operands = "CHIP [FILE]",
          .min_operands = 1,
          .max_operands = 2,
          .summary = "Fit the constants of kernels to measured ones.",
          .details =
              "Fits the few free constants of a chip's kernels preset on every "
              "third row of each\nsource and kind, and prints them with the "
              "rows' ids; the other rows stay out, for\n'orrery validate "
              "kernels' to judge. FILE is your own table, as for validate. "
              "Power\nand clocks that a chip preset tells apart are fitted "
              "along, and printed only:\nthey are the chip's. What the rows do "
              "not determine is said: constants at an end\nof their range, and "
              "constants that make no difference or cannot be told from\n"
              "another.\n\n"
              "  orrery calibrate h100_sxm\n"
              "  orrery calibrate h100_sxm --write "
              "catalog/kernels/hopper_trtllm_2025.textproto",
          .flags = std::move(flags),
          .run = Calibrate};
}

}  // namespace orrery
