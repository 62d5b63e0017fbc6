#pragma once
// The kernel suite: measured kernels against the chips' models.
//
// Groups are a chip and a class of kernels; products above 1 TFLOP are a group
// of their own besides, so are those of each source, and memory-bound kernels
// whose work outlasts what a host clock adds to them. Bars are for medians.
#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "accuracy/kernels/kernel_measurement.h"
#include "accuracy/table/accuracy_table.h"

namespace orrery {

// Each row is predicted on the preset of its chip, with the chip's default
// kernels or with `library` where it is not empty, or refused. `origin` names
// the table the measurements are from.
AccuracyTable PredictKernels(const KernelMeasurements& measurements,
                             std::string origin,
                             const std::string& library = "");

// The same for the user's file if there is one, else validation/kernels.csv.
absl::StatusOr<AccuracyTable> RunKernelSuite(
    const std::optional<std::string>& file, const std::string& library = "");

// The products profiled on an A100, each with its own tile and clock, level by
// level; those on a vector are left out.
struct ProfileAccuracy {
  int profiles = 0;
  ErrorStatistics cache_read;
  ErrorStatistics cache_written;
  ErrorStatistics memory_read;
  ErrorStatistics time;
};
absl::StatusOr<ProfileAccuracy> CompareProfiles(
    const std::string& library = "");

}  // namespace orrery
