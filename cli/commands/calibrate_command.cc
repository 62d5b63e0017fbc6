// orrery calibrate: fit the constants of kernels to measured ones.
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/fit_doubts.h"
#include "accuracy/kernel_fit.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/override.h"
#include "catalog/preset_file.h"
#include "catalog/textproto.h"
#include "cli/commands/commands.h"
#include "cli/flags/chip_flags.h"
#include "cli/print/json.h"
#include "cli/print/output.h"
#include "cli/print/preset_text.h"
#include "run/chip_with_kernels.h"

namespace orrery {
namespace {

// What is fitted: a field of the kernels or a clock of the chip, the unit it is
// written in, its range, and the class of kernels without which it would stand
// for something else.
struct Fitted {
  absl::string_view path;
  absl::string_view unit;
  double low;
  double high;
  std::optional<KernelClass> needs = std::nullopt;
  // Fitted only if the preset sets this field as well.
  absl::string_view along = {};
};
constexpr Fitted kFitted[] = {
    // Two clocks can be told from the rows of two kinds of harness; a single
    // one could not be told from the attainable share below.
    {"sustained_clock", " GHz", 0.5, 3, std::nullopt, "burst_clock"},
    {"burst_clock", " GHz", 0.5, 3},
    {"kernels.matrix_efficiency", "", 0.85, 0.99},
    {"kernels.memory_efficiency", "", 0.6, 0.93},
    {"kernels.launch", " us", 1, 10},
    {"kernels.precision[FP8].efficiency", "", 0.5, 1},
    {"kernels.step_cycles", "", 50, 500},
    {"kernels.overlap_exponent", "", 1.2, 8},
    {"kernels.cache_efficiency", "", 0.6, 1},
    {"kernels.attention_efficiency", "", 0.5, 1},
    {"kernels.softmax_exposed", "", 0.05, 1},
    {"kernels.attention_combine", " us", 0.5, 20,
     KernelClass::kDecodeAttention},
    {"kernels.grouped_launch", " us", 0.5, 20, KernelClass::kGroupedGemm},
    {"kernels.grouped_efficiency", "", 0.7, 1, KernelClass::kGroupedGemm},
    {"kernels.quantize_efficiency", "", 0.2, 1},
    {"kernels.quantize_launch", " us", 0.5, 20},
};

constexpr absl::string_view kKernels = "kernels.";
bool OfKernels(absl::string_view path) {
  return absl::StartsWith(path, kKernels);
}

std::string ValueText(double value, absl::string_view unit) {
  return fmt::format("{:g}{}", value, unit);
}

// The number in front of a field's unit, or nothing if the field is not set.
std::optional<double> Current(const ChipProtos& protos,
                              absl::string_view path) {
  const absl::StatusOr<std::string> text =
      OfKernels(path)
          ? FieldText(absl::StripPrefix(path, kKernels), protos.kernels)
          : FieldText(path, protos.chip);
  double value = 0;
  if (!text.ok()) return std::nullopt;
  const std::vector<std::string> words = absl::StrSplit(*text, ' ');
  if (!absl::SimpleAtod(words[0], &value)) return std::nullopt;
  return value;
}

bool HasClass(absl::Span<const KernelMeasurement* const> rows,
              KernelClass kernel_class) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const KernelMeasurement* row) {
                       return row->kernel_class == kernel_class;
                     });
}

std::string UnitOf(absl::string_view path) {
  for (const Fitted& fitted : kFitted) {
    if (fitted.path == path) return std::string(fitted.unit);
  }
  return "";
}

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

absl::StatusOr<HarnessTimers> TimersWith(
    const ChipProtos& protos, absl::Span<const FitConstant> constants) {
  ChipProtos changed = protos;
  for (const FitConstant& constant : constants) {
    RETURN_IF_ERROR(changed.Set(absl::StrCat(
        constant.name, "=", ValueText(constant.value, UnitOf(constant.name)))));
  }
  ASSIGN_OR_RETURN(const ChipWithKernels on, changed.ToValues());
  return HarnessTimers::Create(on.chip, on.kernels);
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
        JsonString(c.name), JsonNumber(c.value), JsonNumber(before[i].value),
        JsonNumber(c.low), JsonNumber(c.high),
        JsonString(absl::StripAsciiWhitespace(UnitOf(c.name)))));
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
      lines.empty() ? "" : "\n  ", JsonNumber(fit.loss_before),
      JsonNumber(fit.loss_after), fit.evaluations, absl::StrJoin(ids, ", "));
}

absl::StatusOr<ExitCode> Calibrate(const Arguments& arguments) {
  const std::string& name = arguments.positional()[0];
  ASSIGN_OR_RETURN(const ChipProtos protos,
                   LoadChipProtos(name, arguments.Get("library").value_or("")));
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
  std::vector<FitConstant> candidates;
  for (const Fitted& fitted : kFitted) {
    const std::optional<double> value = Current(protos, fitted.path);
    if (!value.has_value()) continue;
    if (!fitted.along.empty() && !Current(protos, fitted.along)) continue;
    if (fitted.needs.has_value() && !HasClass(rows, *fitted.needs)) continue;
    candidates.push_back(
        {std::string(fitted.path), *value, fitted.low, fitted.high});
  }
  RETURN_IF_ERROR(TimersWith(protos, candidates).status());
  const auto loss = [&](absl::Span<const FitConstant> trial) {
    return FitLoss(rows, *TimersWith(protos, trial));
  };
  const std::vector<FitConstant> constants = WithEffect(candidates, loss);
  const FitResult fit = FitConstants(constants, loss);

  std::vector<std::string> ids;
  for (const KernelMeasurement* row : rows) ids.push_back(row->id);
  std::string out =
      fmt::format("# {}: {} rows of {} fitted: {}\n", protos.kernels.name(),
                  rows.size(), name, absl::StrJoin(ids, " "));
  std::vector<Override> changes;
  for (size_t i = 0; i < fit.constants.size(); ++i) {
    const std::string unit = UnitOf(constants[i].name);
    changes.push_back(
        {constants[i].name, ValueText(fit.constants[i].value, unit)});
    out +=
        fmt::format("{} = {}   # was {}\n", changes.back().path,
                    changes.back().value, ValueText(constants[i].value, unit));
  }
  out += fmt::format(
      "# mean error per class {:.2f} % -> {:.2f} %, {} evaluations\n",
      100 * fit.loss_before, 100 * fit.loss_after, fit.evaluations);
  const std::vector<FitDoubt> doubts = DoubtsOf(fit.constants, loss);
  for (const FitDoubt& doubt : doubts) {
    out += fmt::format(
        "# doubt: {}\n",
        DoubtText(doubt, ValueText(doubt.value, UnitOf(doubt.constant))));
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
  const auto json = arguments.Get("json");
  if (json) {
    RETURN_IF_ERROR(WriteFile(
        *json, FitJson(protos.kernels.name(), constants, fit, doubts, ids)));
  }
  if (json == "-") return ExitCode::kDone;
  return Print(out);
}

}  // namespace

Command CalibrateCommand() {
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
              "Clocks\nthat a chip preset tells apart are fitted along, and "
              "printed only: they are the chip's.\nWhat the rows do not "
              "determine is said: constants at an end of their range, and\n"
              "constants that make no difference or cannot be told from "
              "another.\n\n"
              "  orrery calibrate h100_sxm\n"
              "  orrery calibrate h100_sxm --write "
              "catalog/kernels/hopper_trtllm_2025.textproto",
          .flags = {LibraryFlag(),
                    {.name = "json",
                     .value = "FILE",
                     .help = "write the fit as JSON (- is stdout, without "
                             "text)"},
                    {.name = "write",
                     .value = "PRESET",
                     .help = "put the constants and the ids into this kernels "
                             "file"}},
          .run = Calibrate};
}

}  // namespace orrery
