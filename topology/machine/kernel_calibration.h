#pragma once
// KernelCalibration: how the kernels of a chip's libraries behave.
//
// The tiles a matrix library chooses from and the few constants that its
// measured kernels share. What each means is said in proto/chip.proto; how they
// act together in cost/kernel/gemm_time.h and its neighbours.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "topology/machine/dtype.h"
#include "topology/machine/field_reader.h"

namespace orrery {

struct MatrixTile {
  int rows;
  int columns;
  // Bytes of one operand's row that a step of the main loop takes.
  int step_bytes;
  // Tiles that one compute unit runs at once.
  int resident;
};

struct PrecisionCalibration {
  DType dtype;
  double efficiency;
  // The most parts into which the reduction is cut.
  std::optional<int> max_split;
};

// Measured products with the same weights, by ascending number of rows.
struct ProductTable {
  struct Point {
    int64_t rows;
    Duration time;
  };
  DType dtype;
  int64_t columns;
  int64_t reduction;
  std::vector<Point> points;
};

struct KernelCalibration {
  std::vector<MatrixTile> tiles;
  std::vector<PrecisionCalibration> precisions;
  double tile_overhead_cycles;
  // Of the result, per unit; unset: part of the overhead.
  std::optional<double> epilogue_bytes_per_cycle;
  double step_cycles;
  double overlap_exponent;
  double cache_efficiency;
  int multicast;
  int raster_rows;
  double cache_reach;

  int attention_rows;
  int attention_columns;
  int attention_min_rows;
  double attention_efficiency;
  double softmax_operations;
  double softmax_exposed;
  Duration attention_combine;

  Duration grouped_launch;
  double grouped_efficiency;
  int norm_row_limit;
  int softmax_row_limit;
  double quantize_efficiency;
  Duration quantize_launch;
  // The constants are another chip's, or estimates.
  bool taken_over;
  // Ids of the measurements on which constants were fitted.
  std::vector<std::string> fitted_rows;
  // Times that replace the model where they cover a shape, if they are used.
  std::vector<ProductTable> measured;
  bool use_measured;
};

// From a pb::KernelCalibration; violations go to the reader's list.
KernelCalibration ReadKernelCalibration(const FieldReader& fields);

}  // namespace orrery
