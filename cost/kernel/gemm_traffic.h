#pragma once
// Bytes a tiled matrix product moves, per memory level.
//
// Last cache: every tile reads its rows of A and its columns of B over the
// whole reduction, so A is read once per column of tiles and B once per row of
// tiles. Exact on 42 of 48 profiled A100 kernels (gkarfakis19/Rapid-LLM,
// ncu_metrics_results.csv). Where tiles share loads (thread-block clusters) the
// reads fall by that factor.
//
// Main memory: tiles run in rasters of `raster_rows` rows, as many columns wide
// as tiles run at once; an operand is read once per raster that needs it. A
// raster that touches more than `cache_reach` times the last cache, with
// several tiles on a unit that drift apart, reads its operands again: up to
// (1 + tiles on a unit) / 2 times. That last rule is fitted to the same
// profiles. Problems that fit the cache are read once.
#include "cost/kernel/kernel_chip.h"
#include "workload/model/op.h"

namespace orrery {

// Per weight that is stored in a narrow format: its bits are taken out, made a
// float at half the rate of other instructions, and scaled: four slots of an
// instruction, each counted as a multiply-add (CUDA C++ Programming Guide,
// throughput of native arithmetic instructions).
inline constexpr double kWideningFlops = 8;

// Tiles of a product, as real numbers; one of the batch.
struct TileGrid {
  double rows;
  double columns;
};
TileGrid GridOf(const Gemm& gemm, const MatrixTile& tile);

double CacheReadBytes(const Gemm& gemm, const MatrixTile& tile,
                      const KernelChip& chip);
double CacheWriteBytes(const Gemm& gemm);

double MemoryReadBytes(const Gemm& gemm, const MatrixTile& tile,
                       const KernelChip& chip);
double MemoryWriteBytes(const Gemm& gemm);

}  // namespace orrery
