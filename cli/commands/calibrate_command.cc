// orrery calibrate: fit the constants of kernels to measured ones.
#include <absl/strings/str_join.h>

#include <optional>
#include <string>
#include <vector>

#include "accuracy/kernel_calibration.h"
#include "base/file.h"
#include "base/format.h"
#include "base/status.h"
#include "catalog/override.h"
#include "cli/commands/commands.h"
#include "cli/flags/chip_flags.h"
#include "cli/print/output.h"
#include "cli/print/preset_text.h"
#include "run/chip_with_kernels.h"

namespace orrery {
namespace {

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
  if (const auto file = arguments.Get("write")) {
    ASSIGN_OR_RETURN(const std::string preset, ReadFile(*file));
    std::erase_if(changes, [](const Override& change) {
      return !OfKernels(change.path);
    });
    ASSIGN_OR_RETURN(const std::string changed,
                     WithConstants(preset, changes, ids));
    RETURN_IF_ERROR(WriteFile(*file, changed));
  }
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
              "Power\nand clocks that a chip preset tells apart are fitted "
              "along, and "
              "printed only:\nthey are the chip's.\n\n"
              "  orrery calibrate h100_sxm\n"
              "  orrery calibrate h100_sxm --write "
              "catalog/kernels/hopper_trtllm_2025.textproto",
          .flags = {LibraryFlag(),
                    {.name = "write",
                     .value = "PRESET",
                     .help = "put the constants and the ids into this kernels "
                             "file"}},
          .run = Calibrate};
}

}  // namespace orrery
