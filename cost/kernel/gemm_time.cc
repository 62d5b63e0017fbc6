#include "cost/kernel/gemm_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "cost/kernel/gemm_traffic.h"

namespace orrery {
namespace {

constexpr std::array<int, 8> kSplits = {1, 2, 3, 4, 6, 8, 12, 16};
// Partial sums are kept in FP32, written and read back.
constexpr double kPartialBytes = 2 * 4;

// A thread of a product on the vector units holds so many rows and columns of
// the result, and widens as many operands of each side for their products.
constexpr double kThreadTile = 8;
// An operand is made a float at half the rate of other instructions (CUDA C++
// Programming Guide, throughput of native arithmetic instructions).
constexpr double kWideningSlots = 2;

bool FitsMatrixUnits(const Gemm& g, const KernelChip& chip) {
  if (g.batch == 1) return true;
  const double row = chip.constants.batch_alignment;
  const double element = BytesPerElement(g.operand);
  return std::fmod(static_cast<double>(g.k) * element, row) == 0 &&
         std::fmod(static_cast<double>(g.n) * element, row) == 0;
}

// FLOP/s of one unit in the main loop.
double MainLoopRate(const Gemm& g, const KernelChip& chip) {
  if (FitsMatrixUnits(g, chip)) return chip.ProductRate(g.operand);
  const double products = kThreadTile * kThreadTile;
  const double widened = 2 * kThreadTile;
  return chip.vector_rate / chip.units * products /
         (products + kWideningSlots * widened);
}

// Everything of a tile that does not depend on the split.
struct TileCost {
  double tiles;
  // Seconds of one step of the main loop on the units of a tile; what of that
  // the matrix units are busy at their peak.
  double step_seconds;
  double busy_seconds;
  double reduction_steps;
  double cache_bytes;
  double memory_bytes;
  // Seconds at the cache and at memory, and of merging one part.
  double cache;
  double memory;
  double widen;  // of the weights, on the vector units
  double merge;
  // No split of this tile takes less than this, merging aside.
  double least;
};

TileCost CostOf(const Gemm& g, const KernelChip& chip, const MatrixTile& tile) {
  const TileGrid grid = GridOf(g, tile);
  const double step = tile.step_bytes / BytesPerElement(g.operand);
  const auto batch = static_cast<double>(g.batch);
  TileCost cost{};
  cost.tiles = grid.rows * grid.columns * batch;
  const double step_flops = 2.0 * tile.rows * tile.columns * step / tile.units;
  cost.step_seconds = step_flops / MainLoopRate(g, chip);
  cost.busy_seconds = step_flops / chip.UnitPeak(g.operand);
  cost.reduction_steps = static_cast<double>(g.k) / step;
  cost.cache_bytes = CacheReadBytes(g, tile, chip) + CacheWriteBytes(g);
  cost.memory_bytes = MemoryReadBytes(g, tile, chip) + MemoryWriteBytes(g);
  cost.cache = cost.cache_bytes / chip.cache_rate;
  cost.memory = cost.memory_bytes / chip.ProductMemoryRate(g.operand);
  if (g.weight) {
    // Every row of tiles widens all the weights anew.
    cost.widen = kWideningFlops * grid.rows * static_cast<double>(g.n) *
                 static_cast<double>(g.k) * batch / chip.vector_rate;
  }
  cost.merge = kPartialBytes * static_cast<double>(g.m) *
               static_cast<double>(g.n) * batch / chip.cache_rate;
  const double work = cost.tiles * cost.reduction_steps * cost.step_seconds /
                      chip.UnitsFor(tile);
  cost.least =
      chip.launch + std::max({work, cost.cache, cost.memory, cost.widen});
  return cost;
}

double MergeSeconds(const TileCost& cost, const KernelChip& chip, int split) {
  if (split == 1) return 0;
  return ToSeconds(chip.constants.split_launch) + cost.merge * split;
}

// Seconds of a tile before and after its main loop.
double TileEnds(const Gemm& g, const KernelChip& chip, const MatrixTile& tile,
                int split) {
  // A part of a split reduction leaves FP32 behind, to be merged.
  const double element =
      split > 1 ? kPartialBytes / 2
                : BytesPerElement(g.output) * (g.accumulate ? 2 : 1);
  return chip.TileEndCycles(element * tile.rows * tile.columns) *
         chip.ProductCycle();
}

// What the power limit leaves of the clock at which a product would keep the
// matrix units busy for so long out of so many seconds.
double ClockOf(const Gemm& g, const KernelChip& chip, double busy,
               double seconds) {
  return chip.power.Clock(g.operand, std::min(1.0, busy / seconds),
                          kProductMemory);
}

// `give_up`: a time that is not worth beating; then the result is infinite.
KernelEstimate Estimate(const Gemm& g, const KernelChip& chip,
                        const MatrixTile& tile, const TileCost& cost, int split,
                        double give_up) {
  const KernelConstants& c = chip.constants;
  const double tiles = cost.tiles * split;
  const double steps = std::ceil(cost.reduction_steps / split);
  const double ends = TileEnds(g, chip, tile, split);
  const double units = chip.UnitsFor(tile);
  double matrix = std::ceil(tiles / units) * (steps * cost.step_seconds + ends);
  double latency =
      std::ceil(tiles / (units * tile.resident)) *
      (steps * chip.StepCycles(g.operand) * chip.ProductCycle() + ends);
  double core = std::max({matrix, latency, cost.cache, cost.widen});
  const double fixed = chip.launch + MergeSeconds(cost, chip, split);
  if (chip.clock_by_share) {
    // What waits for memory or the cache draws less still; it is not counted,
    // so that no kernel is slower for a faster one of them.
    const double clock =
        ClockOf(g, chip, tiles * steps * cost.busy_seconds / units,
                fixed + std::max(matrix, latency));
    matrix /= clock;
    latency /= clock;
    core = std::max({matrix, latency, cost.cache, cost.widen});
  }
  KernelEstimate estimate;
  if (fixed + std::max(core, cost.memory) >= give_up) {
    estimate.seconds = std::numeric_limits<double>::infinity();
    return estimate;
  }
  estimate.launch = chip.launch;
  estimate.seconds = fixed + Overlapped(core, cost.memory, c.overlap_exponent);
  estimate.cache_bytes = cost.cache_bytes;
  estimate.memory_bytes = cost.memory_bytes;
  if (chip.launch > std::max(core, cost.memory)) {
    estimate.limit = Limit::kLaunch;
  } else if (cost.memory > core) {
    estimate.limit = Limit::kMemory;
  } else if (core == matrix) {
    estimate.limit = Limit::kMatrix;
  } else if (core == cost.widen) {
    estimate.limit = Limit::kVector;
  } else {
    estimate.limit = core == cost.cache ? Limit::kCache : Limit::kLatency;
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
  for (const MatrixTile& tile : chip.Tiles(gemm.operand)) {
    const TileCost cost = CostOf(gemm, chip, tile);
    for (const int split : kSplits) {
      // More parts only add to the merging.
      if (split > max_split || cost.least + MergeSeconds(cost, chip, split) >=
                                   best.estimate.seconds) {
        break;
      }
      const KernelEstimate estimate =
          Estimate(gemm, chip, tile, cost, split, best.estimate.seconds);
      if (estimate.seconds < best.estimate.seconds) {
        best = {estimate, tile, split};
      }
    }
  }
  return best;
}

}  // namespace orrery
