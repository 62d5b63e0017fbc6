#include "cost/kernel/gemm_traffic.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

struct OperandBytes {
  double a;
  double b;
  double c;
};

OperandBytes BytesOf(const Gemm& g) {
  const auto m = static_cast<double>(g.m);
  const auto n = static_cast<double>(g.n);
  const auto k = static_cast<double>(g.k);
  const double element = BytesPerElement(g.operand);
  return {m * k * element,
          k * n * WeightBytesPerElement(g.operand, g.weight, g.weight_group),
          m * n * BytesPerElement(g.output)};
}

bool IsWarm(const Gemm& g, const KernelChip& chip) {
  const OperandBytes bytes = BytesOf(g);
  return chip.warm_cache &&
         (bytes.a + bytes.b + bytes.c) * static_cast<double>(g.batch) <=
             chip.cache_size;
}

}  // namespace

TileGrid GridOf(const Gemm& g, const MatrixTile& tile) {
  return {std::ceil(static_cast<double>(g.m) / tile.rows),
          std::ceil(static_cast<double>(g.n) / tile.columns)};
}

double CacheReadBytes(const Gemm& g, const MatrixTile& tile,
                      const KernelChip& chip) {
  const TileGrid grid = GridOf(g, tile);
  const OperandBytes bytes = BytesOf(g);
  const double shared = chip.constants.multicast;
  // A cluster cannot be larger than the grid: every operand is read once.
  const double reads = std::max(1.0, grid.columns / shared) * bytes.a +
                       std::max(1.0, grid.rows / shared) * bytes.b +
                       (g.accumulate ? bytes.c : 0);
  return reads * static_cast<double>(g.batch);
}

double CacheWriteBytes(const Gemm& g) {
  return BytesOf(g).c * static_cast<double>(g.batch);
}

double MemoryReadBytes(const Gemm& g, const MatrixTile& tile,
                       const KernelChip& chip) {
  const KernelConstants& c = chip.constants;
  const TileGrid grid = GridOf(g, tile);
  const OperandBytes bytes = BytesOf(g);
  const double accumulated = g.accumulate ? bytes.c : 0;
  const auto batch = static_cast<double>(g.batch);
  if (IsWarm(g, chip)) return 0;
  // Kernels for narrow weights hold all rows of a small batch and stream the
  // weights past them, once.
  const bool streams = g.weight.has_value() && grid.rows <= 1;
  if (streams || bytes.a + bytes.b <= chip.cache_size) {
    return (bytes.a + bytes.b + accumulated) * batch;
  }
  const double at_once = chip.UnitsFor(tile) * tile.resident;
  const double raster_rows = std::min<double>(grid.rows, c.raster_rows);
  const double raster_columns =
      std::clamp(at_once / raster_rows, 1.0, grid.columns);
  const double touched = bytes.a * (raster_rows / grid.rows) +
                         bytes.b * (raster_columns / grid.columns);
  const double drift = std::clamp(touched / (c.cache_reach * chip.cache_size),
                                  1.0, (1.0 + tile.resident) / 2);
  // Tiles that share an operand drift apart, so that it is read again. What one
  // row of tiles reads of B, as in decoding, it shares with none.
  const double reads =
      bytes.a * (grid.columns / raster_columns) *
          (grid.columns > 1 ? drift : 1) +
      bytes.b * (grid.rows / raster_rows) * (grid.rows > 1 ? drift : 1);
  return (reads + accumulated) * batch;
}

double MemoryWriteBytes(const Gemm& g) { return CacheWriteBytes(g); }

}  // namespace orrery
