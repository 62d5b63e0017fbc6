#pragma once
// KernelConstants: how the kernels of a chip's libraries behave.
//
// The tiles a matrix library chooses from and the few constants that its
// measured kernels share. What each means is said in proto/kernels.proto; how
// they act together in cost/kernel/gemm_time.h and its neighbours. Held, with
// the proof that they are valid, by Kernels.
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
  // Compute units that work on one tile.
  int units = 1;
};

struct KernelPrecision {
  DType dtype;
  double efficiency;
  // The most parts into which the reduction is cut.
  std::optional<int> max_split;
  // Unlike those of the library, if there are any.
  std::vector<MatrixTile> tiles;
  std::optional<double> step_cycles;
  double memory_efficiency = 1;
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

// An implementation of fused attention.
struct FlashConstants {
  std::string name;
  int rows;
  int columns;
  int min_rows;
  double efficiency;
  double backward_efficiency;
  double softmax_operations;
  double softmax_exposed;
  double backward_exposed;
  Duration combine;
  double hardware_exponentials;
  int head_unit;
  // Unset: the library's overhead of a tile.
  std::optional<double> tile_cycles;
  Duration start;
};

struct KernelConstants {
  // Attainable share of the peak in the main loop of a large matrix product.
  double matrix_efficiency;
  // Attainable share of the memory bandwidth of a long stream.
  double memory_efficiency;
  // What a kernel costs before its first instruction: launched by the host one
  // after the other, and replayed from a captured graph.
  Duration launch;
  Duration graph_launch;

  std::vector<MatrixTile> tiles;
  std::vector<KernelPrecision> precisions;
  double tile_overhead_cycles;
  // Of the result, per unit; unset: part of the overhead.
  std::optional<double> epilogue_bytes_per_cycle;
  double step_cycles;
  double overlap_exponent;
  double cache_efficiency;
  // Of the kernel that adds up a split reduction, if there is one.
  Duration split_launch;
  int multicast;
  int raster_rows;
  double cache_reach;
  // A product's clock goes by what it keeps busy.
  bool clock_by_share;
  // Of rows in batches of products that the matrix units can take; 1: any.
  int batch_alignment;

  // The implementation of fused attention that is used, and all that are known.
  FlashConstants attention;
  std::vector<FlashConstants> flash_attention;

  Duration grouped_launch;
  double grouped_efficiency;
  int norm_row_limit;
  int softmax_row_limit;
  double quantize_efficiency;
  Duration quantize_launch;
  // The constants are another library's, or estimates.
  bool taken_over;
  // Ids of the measurements on which constants were fitted.
  std::vector<std::string> fitted_rows;
  // Times that replace the model where they cover a shape, if they are used.
  std::vector<ProductTable> measured;
  bool use_measured;
};

// From a pb::Kernels; violations go to the reader's list.
KernelConstants ReadKernelConstants(const FieldReader& fields);

}  // namespace orrery
