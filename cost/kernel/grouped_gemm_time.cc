#include "cost/kernel/grouped_gemm_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "cost/kernel/gemm_traffic.h"

namespace orrery {
namespace {

// Tiles of all groups along the rows, the rows themselves, and the groups.
struct Rows {
  double tiles;
  double total;
  double active;
};

double ExpectedTiles(double rows, int tile_rows) {
  return std::max(1.0, rows / tile_rows + 0.5);
}

KernelEstimate WithTile(const GroupedGemm& g, const Rows& rows,
                        const MatrixTile& tile, const KernelChip& chip) {
  const KernelConstants& c = chip.constants;
  const auto n = static_cast<double>(g.n);
  const auto k = static_cast<double>(g.k);
  const double element = BytesPerElement(g.operand);
  const double step = tile.step_bytes / element;
  const double columns = std::ceil(n / tile.columns);
  // The gradient of the weights reduces over rows; its outputs are the weights.
  const double tiles = g.weight_gradient
                           ? rows.active * columns * std::ceil(k / tile.rows)
                           : rows.tiles * columns;
  const double reduction =
      g.weight_gradient ? rows.total / std::max(1.0, rows.active) : k;
  const double steps = std::ceil(reduction / step);
  const double outputs = BytesPerElement(g.output) * (g.accumulate ? 2 : 1);
  const double overhead = chip.TileEnds(outputs * tile.rows * tile.columns);
  const double rate = chip.UnitRate(g.operand) * c.grouped_efficiency;
  const double loop =
      steps * 2.0 * tile.rows * tile.columns * step / (rate * tile.units);
  const double units = chip.UnitsFor(tile);
  const double matrix = std::ceil(tiles / units) * (loop + overhead);
  const double latency =
      std::ceil(tiles / (units * tile.resident)) *
      (steps * chip.StepCycles(g.operand) * chip.cycle + overhead);
  const double weights = rows.active * n * k;
  const double memory_bytes =
      g.weight_gradient
          ? rows.total * (n + k) * element + weights * outputs
          : rows.total * k * element +
                weights *
                    WeightBytesPerElement(g.operand, g.weight, g.weight_group) +
                rows.total * n * outputs;
  // Tiles of one group read its weights once per row of tiles.
  const double shared = c.multicast;
  const double cache_bytes =
      g.weight_gradient
          ? memory_bytes + tiles * steps * step * (tile.rows + tile.columns) *
                               element / shared
          : rows.total * k * element * std::max(1.0, columns / shared) +
                n * k * element * std::max(rows.active, rows.tiles / shared) +
                rows.total * n * outputs;
  const double cache = cache_bytes / chip.cache_rate;
  const double memory = memory_bytes / chip.ProductMemoryRate(g.operand);
  const double widen = g.weight ? kWideningFlops * n * k *
                                      std::max(rows.active, rows.tiles) /
                                      chip.vector_rate
                                : 0;
  const double core = std::max({matrix, latency, cache, widen});
  KernelEstimate estimate;
  estimate.launch = chip.launch + ToSeconds(c.grouped_launch);
  estimate.seconds =
      estimate.launch + Overlapped(core, memory, c.overlap_exponent);
  estimate.cache_bytes = cache_bytes;
  estimate.memory_bytes = memory_bytes;
  if (estimate.launch > std::max(core, memory)) {
    estimate.limit = Limit::kLaunch;
  } else if (memory > core) {
    estimate.limit = Limit::kMemory;
  } else if (core == matrix) {
    estimate.limit = Limit::kMatrix;
  } else if (core == widen) {
    estimate.limit = Limit::kVector;
  } else {
    estimate.limit = core == cache ? Limit::kCache : Limit::kLatency;
  }
  return estimate;
}

template <class RowsOfTile>
KernelEstimate BestTile(const GroupedGemm& g, const KernelChip& chip,
                        RowsOfTile rows_of) {
  KernelEstimate best;
  best.seconds = std::numeric_limits<double>::infinity();
  for (const MatrixTile& tile : chip.Tiles(g.operand)) {
    const KernelEstimate estimate = WithTile(g, rows_of(tile), tile, chip);
    if (estimate.seconds < best.seconds) best = estimate;
  }
  return best;
}

}  // namespace

KernelEstimate TimeGroupedGemm(const GroupedGemm& g, const KernelChip& chip) {
  CHECK(g.groups > 0 && g.n > 0 && g.k > 0 && g.active > 0)
      << g.groups << " groups of " << g.n << " x " << g.k;
  const double busy = g.active / g.groups;
  return BestTile(g, chip, [&](const MatrixTile& tile) {
    // Rows of the groups that have any.
    const double others = std::max(0.0, (g.groups - 1) * busy);
    const double tiles = busy * ExpectedTiles(g.hot_rows / busy, tile.rows) +
                         others * ExpectedTiles(g.rows / busy, tile.rows);
    return Rows{tiles, g.total_rows(), g.active};
  });
}

KernelEstimate TimeGroupedGemm(const GroupedGemm& shape,
                               absl::Span<const int64_t> rows,
                               const KernelChip& chip) {
  return BestTile(shape, chip, [&](const MatrixTile& tile) {
    Rows sum{0, 0, 0};
    for (const int64_t count : rows) {
      if (count == 0) continue;
      sum.tiles += std::ceil(static_cast<double>(count) / tile.rows);
      sum.total += static_cast<double>(count);
      sum.active += 1;
    }
    return sum;
  });
}

}  // namespace orrery
