#pragma once
// Calibration: which constants of a chip and its kernels are fitted, and the
// fit itself.
//
//   ASSIGN_OR_RETURN(const KernelCalibration fit,
//                    CalibrateKernels(protos, rows));
//   fit.timers;          // the chip with what was fitted
//
// The constants, their units and their ranges are a table in the source.
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <optional>
#include <string>
#include <vector>

#include "accuracy/kernels/fit_doubts.h"
#include "accuracy/kernels/kernel_fit.h"
#include "accuracy/kernels/kernel_measurement.h"
#include "run/chip_with_kernels.h"

namespace orrery {

struct KernelCalibration {
  // As they were, and as fitted; both in the same order.
  std::vector<FitConstant> before;
  FitResult fit;
  HarnessTimers timers;
};

// Requires: rows of this chip, at least one.
absl::StatusOr<KernelCalibration> CalibrateKernels(
    const ChipProtos& protos, absl::Span<const KernelMeasurement* const> rows);

// Whether a fitted constant belongs to the kernels, not to the chip.
bool OfKernels(absl::string_view path);
// A constant's value as a preset has it: "3.8 us".
std::string ConstantText(const FitConstant& constant);

// " us" of a fitted constant, with the space; empty for a plain number.
std::string UnitOfConstant(absl::string_view path);

// What the rows leave open of fitted constants.
absl::StatusOr<std::vector<FitDoubt>> DoubtsOfFit(
    const ChipProtos& protos, absl::Span<const KernelMeasurement* const> rows,
    absl::Span<const FitConstant> fitted);

// How a source fares when its rows are not used: errors of its rows with the
// constants as they are, and fitted on every third row of all other sources of
// the chip. Nothing where there is no other source.
struct LeftOut {
  std::string chip;
  std::string source;
  int rows = 0;
  double mean = 0;
  std::optional<double> refitted_mean = std::nullopt;
};
absl::StatusOr<std::vector<LeftOut>> LeaveSourcesOut(
    absl::Span<const KernelMeasurement> rows);

}  // namespace orrery
