#pragma once
// Matrix products profiled with their tile, clock and traffic per memory level.
//
// Such a profile (validation/gemm_a100_nsight.csv) tests the parts of a
// product's time one by one: with the tile and the clock given, nothing is left
// to choose.
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "accuracy/table/measurement_table.h"
#include "topology/machine/chip.h"
#include "topology/machine/kernels.h"
#include "workload/model/op.h"

namespace orrery {

struct GemmProfile {
  std::string id;
  Gemm gemm;
  MatrixTile tile;
  Hertz clock;
  double seconds;
  double tiles;
  double cache_read;
  double cache_written;
  double memory_read;
  // A kernel for products, used on a vector.
  bool vector() const { return gemm.n == 1; }
};

// The error names the line and the column. `units` are those of the chip the
// profiles were taken on.
absl::StatusOr<std::vector<GemmProfile>> ReadGemmProfiles(
    const MeasurementTable& table, int units);

// Predicted over profiled, minus 1. A kernel may use its tile transposed; what
// fits the profiled cache reads better is taken.
struct ProfileError {
  double time;
  double cache_read;
  double cache_written;
  double memory_read;
};
absl::StatusOr<ProfileError> CompareProfile(const GemmProfile& profile,
                                            const Chip& chip,
                                            const Kernels& kernels);

}  // namespace orrery
