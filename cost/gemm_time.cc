#include "cost/gemm_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "cost/gemm_traffic.h"

namespace orrery {
namespace {

constexpr std::array<int, 8> kSplits = {1, 2, 3, 4, 6, 8, 12, 16};
// Partial sums are kept in FP32, written and read back.
constexpr double kPartialBytes = 2 * 4;

// Everything of a tile that does not depend on the split.
struct TileCost {
  double tiles;
  double step_flops;
  double reduction_steps;
  double cache_bytes;
  double memory_bytes;
};

TileCost CostOf(const Gemm& g, const KernelChip& chip, const MatrixTile& tile) {
  const TileGrid grid = GridOf(g, tile);
  const double step = tile.step_bytes / BytesPerElement(g.operand);
  return {grid.rows * grid.columns * static_cast<double>(g.batch),
          2.0 * tile.rows * tile.columns * step,
          static_cast<double>(g.k) / step,
          CacheReadBytes(g, tile, chip) + CacheWriteBytes(g),
          MemoryReadBytes(g, tile, chip) + MemoryWriteBytes(g)};
}

// `give_up`: a time that is not worth beating; then the result is infinite.
KernelEstimate Estimate(const Gemm& g, const KernelChip& chip,
                        const MatrixTile& tile, const TileCost& cost, int split,
                        double give_up) {
  const KernelCalibration& c = chip.calibration;
  const double tiles = cost.tiles * split;
  const double steps = std::ceil(cost.reduction_steps / split);
  const double overhead = c.tile_overhead_cycles * chip.cycle;
  const double loop = steps * cost.step_flops / chip.UnitRate(g.operand);
  const double matrix = std::ceil(tiles / chip.units) * (loop + overhead);
  const double latency = std::ceil(tiles / (chip.units * tile.resident)) *
                         (steps * c.step_cycles * chip.cycle + overhead);
  const double cache = cost.cache_bytes / chip.cache_rate;
  const double merge = split == 1
                           ? 0
                           : kPartialBytes * split * static_cast<double>(g.m) *
                                 static_cast<double>(g.n) *
                                 static_cast<double>(g.batch) / chip.cache_rate;
  const double memory = cost.memory_bytes / chip.memory_rate;
  const double core = std::max({matrix, latency, cache});
  KernelEstimate estimate;
  if (chip.launch + std::max(core, memory) + merge >= give_up) {
    estimate.seconds = std::numeric_limits<double>::infinity();
    return estimate;
  }
  estimate.launch = chip.launch;
  estimate.seconds =
      chip.launch + Overlapped(core, memory, c.overlap_exponent) + merge;
  estimate.cache_bytes = cost.cache_bytes;
  estimate.memory_bytes = cost.memory_bytes;
  if (chip.launch > std::max(core, memory)) {
    estimate.limit = Limit::kLaunch;
  } else if (memory > core) {
    estimate.limit = Limit::kMemory;
  } else if (core == matrix) {
    estimate.limit = Limit::kMatrix;
  } else {
    estimate.limit = core == cache ? Limit::kCache : Limit::kLatency;
  }
  return estimate;
}

}  // namespace

KernelEstimate TimeGemm(const Gemm& gemm, const KernelChip& chip,
                        const MatrixTile& tile, int split) {
  return Estimate(gemm, chip, tile, CostOf(gemm, chip, tile), split,
                  std::numeric_limits<double>::infinity());
}

GemmChoice TimeGemm(const Gemm& gemm, const KernelChip& chip) {
  CHECK(gemm.m > 0 && gemm.n > 0 && gemm.k > 0 && gemm.batch > 0)
      << gemm.m << " x " << gemm.n << " x " << gemm.k << " x " << gemm.batch;
  const int max_split = chip.MaxSplit(gemm.operand);
  GemmChoice best;
  best.estimate.seconds = std::numeric_limits<double>::infinity();
  for (const MatrixTile& tile : chip.calibration.tiles) {
    const TileCost cost = CostOf(gemm, chip, tile);
    for (const int split : kSplits) {
      if (split > max_split) break;
      const KernelEstimate estimate =
          Estimate(gemm, chip, tile, cost, split, best.estimate.seconds);
      if (estimate.seconds < best.estimate.seconds) {
        best = {estimate, tile, split};
      }
    }
  }
  return best;
}

double TileQuantisation(double tiles, double units) {
  return tiles / units / std::ceil(tiles / units);
}

}  // namespace orrery
