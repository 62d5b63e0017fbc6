#include "cost/kernel/attention_time.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace orrery {
namespace {

double CeilTo(double value, double unit) {
  return std::ceil(value / unit) * unit;
}

// Sum over i in [0, n) of CeilTo(first + i * rows, columns). In O(1) where rows
// are a multiple of columns, as with every tile in use; otherwise one by one,
// and for very many with the rounding's mean of half a column.
double SumOfRounded(double first, double n, double rows, double columns) {
  constexpr double kMany = 10'000;
  if (rows >= columns && std::fmod(rows, columns) == 0) {
    return n * CeilTo(first, columns) + rows * n * (n - 1) / 2;
  }
  if (n > kMany) return n * (first + rows * (n - 1) / 2 + columns / 2);
  double sum = 0;
  for (double i = 0; i < n; ++i) sum += CeilTo(first + i * rows, columns);
  return sum;
}

// Share of the memory bandwidth of attention that is bound by arithmetic.
constexpr double kAttentionMemory = 0.1;

struct TrafficBytes {
  double load;
  double store;
};

// Main-memory bytes of the main kernel.
TrafficBytes Traffic(const FusedAttention& a, double seen_keys) {
  const double queries = static_cast<double>(a.batch) *
                         static_cast<double>(a.queries) * a.query_heads;
  const double keys = static_cast<double>(a.batch) * seen_keys * a.kv_heads;
  const double element = BytesPerElement(a.operand);
  const double query = queries * a.head_dimension * element;
  const double output = queries * a.value_dimension * element;
  const double key_value =
      keys * (a.head_dimension + (a.shared_key_value ? 0 : a.value_dimension)) *
      BytesPerElement(a.cache);
  const double log_sum = 4 * queries;
  if (!a.backward) return {query + key_value, output + log_sum};
  // Loads query, key, value, the output's gradient and two sums per row; adds
  // to the FP32 gradient of the query; stores those of key and value.
  const double query_gradient = 4 * queries * a.head_dimension;
  return {query + key_value + output + 2 * log_sum + query_gradient,
          key_value + query_gradient};
}

// Query heads whose keys and values are loaded together.
double LoadedTogether(const FusedAttention& a) {
  return a.ungrouped ? 1 : static_cast<double>(a.query_heads) / a.kv_heads;
}
// How often a key or value is loaded for every time it comes from memory.
double LoadsPerKey(const FusedAttention& a) {
  return a.ungrouped ? static_cast<double>(a.query_heads) / a.kv_heads : 1;
}

// Keys that any query sees.
double KeysSeen(const FusedAttention& a) {
  const auto keys = static_cast<double>(a.keys);
  if (a.window == 0) return keys;
  return std::min(keys, static_cast<double>(a.window + a.queries));
}

struct Parts {
  double matrix;
  double vector;
  double overhead;
};

// Of one query and one key, with heads padded to whole units of so many
// elements.
double PairFlops(const FusedAttention& a, int head_unit) {
  const double head = CeilTo(a.head_dimension, head_unit);
  const double value = CeilTo(a.value_dimension, head_unit);
  return a.backward ? 6 * head + 4 * value : 2 * (head + value);
}

double Exposed(const FusedAttention& a, const FlashConstants& flash) {
  return a.backward ? flash.backward_exposed : flash.softmax_exposed;
}

// Seconds on the units: products and the part of the softmax they do not hide.
double Core(const FusedAttention& a, const Parts& parts,
            const FlashConstants& flash) {
  return std::max(parts.matrix + Exposed(a, flash) * parts.vector,
                  parts.vector);
}

// Seconds per score on one unit, at the clock that the power limit leaves.
Parts PerScore(const FusedAttention& a, const KernelChip& chip) {
  const FlashConstants& flash = chip.constants.attention;
  const double peak = chip.UnitPeak(a.operand);
  const double efficiency =
      a.backward ? flash.backward_efficiency : flash.efficiency;
  // Vector rates count multiply-adds as two; these are single operations.
  const double vector =
      chip.units * (2 * flash.softmax_operations / chip.vector_rate +
                    flash.hardware_exponentials / chip.exponential_rate);
  const double flops = PairFlops(a, flash.head_unit);
  Parts parts{flops / (peak * efficiency), vector, 0};
  const double busy = flops / peak / Core(a, parts, flash);
  const double clock = chip.power.Clock(a.operand, busy, kAttentionMemory);
  const double result = static_cast<double>(flash.rows) * a.value_dimension *
                        BytesPerElement(a.operand);
  const double ends = flash.tile_cycles.has_value()
                          ? *flash.tile_cycles * chip.nominal_cycle / clock
                          : chip.TileEnds(result);
  return {parts.matrix / clock, parts.vector * chip.power.VectorClock() / clock,
          ends};
}

// Seconds on the units with tiles of queries (backward: of keys).
Parts QueryTiles(const FusedAttention& a, const KernelChip& chip) {
  const FlashConstants& c = chip.constants.attention;
  // Short queries take a smaller tile.
  const auto queries = static_cast<double>(a.queries);
  const auto rows = static_cast<int64_t>(
      std::min<double>(c.rows, CeilTo(queries, c.min_rows)));
  const ScoreBlocks blocks = CountScoreBlocks(a, rows, c.columns);
  const double heads = static_cast<double>(a.batch) * a.query_heads;
  const double tiles_per_head = std::ceil(queries / static_cast<double>(rows));
  const double tiles = heads * tiles_per_head;
  const double even = heads * blocks.total / chip.units;
  // Equal tiles come in whole rounds. Unequal ones fill the gaps, but when the
  // others are done some are, on the mean, half through a long one.
  const double rounds = std::ceil(tiles / chip.units);
  const bool unequal = a.mask == Mask::kCausal && tiles_per_head > 1;
  const double scores =
      unequal ? std::max(blocks.longest, even + blocks.longest / 2)
              : rounds * blocks.longest;
  const Parts per_score = PerScore(a, chip);
  return {scores * per_score.matrix, scores * per_score.vector,
          rounds * per_score.overhead};
}

// Seconds on the units with split keys.
Parts SplitKeys(const FusedAttention& a, const KernelChip& chip) {
  const FlashConstants& c = chip.constants.attention;
  const double rows =
      CeilTo(LoadedTogether(a) * static_cast<double>(a.queries), c.min_rows);
  const double blocks = std::ceil(KeysSeen(a) / c.columns);
  const double scores = static_cast<double>(a.batch) * a.kv_heads *
                        LoadsPerKey(a) * rows * blocks * c.columns / chip.units;
  const Parts per_score = PerScore(a, chip);
  // A unit has at least one block to do.
  const double least = static_cast<double>(c.min_rows) * c.columns;
  const double share = std::max(scores, least);
  return {share * per_score.matrix, share * per_score.vector,
          per_score.overhead};
}

// Libraries split the keys where the queries of a key-value head are one tile
// after keys that are cached (decoding), or tiles of queries do not fill the
// units. A prompt by itself goes head by head. Those of a latent are
// packed into tiles whether or not one is enough: the rows of FlashMLA are
// heads times queries.
bool MaySplitKeys(const FusedAttention& a, const KernelChip& chip) {
  const FlashConstants& flash = chip.constants.attention;
  const auto queries = static_cast<double>(a.queries);
  const double tiles = static_cast<double>(a.batch) * a.query_heads *
                       std::ceil(queries / flash.rows);
  const bool prompt = a.queries > 1 && a.queries == a.keys;
  return (LoadedTogether(a) * queries <= flash.rows && !prompt) ||
         tiles < chip.units || (a.shared_key_value && queries < flash.min_rows);
}

KernelEstimate Combine(const FusedAttention& a, const Parts& parts,
                       const TrafficBytes& bytes, double launch,
                       const KernelChip& chip) {
  const KernelConstants& c = chip.constants;
  const double memory = (bytes.load + bytes.store) / chip.memory_rate;
  // The heads of a group read the same keys at about the same time.
  const double cache =
      a.ungrouped ? bytes.load * LoadsPerKey(a) / chip.cache_rate : 0;
  KernelEstimate estimate;
  estimate.launch = launch;
  estimate.memory_bytes = bytes.load + bytes.store;
  if (chip.attention_form == AttentionForm::kAdditive) {
    estimate.seconds = launch + memory + parts.matrix + parts.vector;
  } else {
    const double core =
        std::max(Core(a, parts, c.attention) + parts.overhead, cache);
    estimate.seconds = launch + Overlapped(core, memory, c.overlap_exponent);
  }
  const double most = std::max({parts.matrix, parts.vector, memory, cache});
  estimate.limit = launch > most          ? Limit::kLaunch
                   : most == memory       ? Limit::kMemory
                   : most == cache        ? Limit::kCache
                   : most == parts.matrix ? Limit::kMatrix
                                          : Limit::kVector;
  return estimate;
}

}  // namespace

ScoreBlocks CountScoreBlocks(const FusedAttention& a, int64_t rows,
                             int64_t columns) {
  const auto r = static_cast<double>(rows);
  const auto c = static_cast<double>(columns);
  const auto queries = static_cast<double>(a.queries);
  const auto keys = static_cast<double>(a.keys);
  const double tiles = std::ceil(queries / r);
  const double all = CeilTo(keys, c);
  // A window lets a tile see that many keys and its own rows.
  const double widest =
      a.window > 0 ? std::min(all, CeilTo(static_cast<double>(a.window) + r, c))
                   : all;
  switch (a.mask) {
    case Mask::kFull:
      return {tiles * r * widest, r * widest};
    case Mask::kCausalBalanced: {
      // Half of the square, and half a block more on the diagonal.
      const double mean = std::min(widest, (keys + c) / 2);
      return {tiles * r * mean, r * mean};
    }
    case Mask::kCausal:
      break;
  }
  // The first tile's last row sees `first` keys; each further tile r more.
  const double first = std::min(keys, keys - queries + r);
  const double full = std::max(0.0, std::floor((keys - first) / r)) + 1;
  double total = SumOfRounded(first, std::min(full, tiles), r, c);
  if (tiles > full) total += (tiles - full) * all;
  if (a.window > 0) total = std::min(total, tiles * widest);
  return {r * total, r * std::min(all, widest)};
}

KernelEstimate TimeAttention(const FusedAttention& a, const KernelChip& chip) {
  CHECK(a.batch > 0 && a.queries > 0 && a.keys > 0 && a.query_heads > 0 &&
        a.kv_heads > 0)
      << a.batch << " x " << a.queries << " x " << a.keys;
  const FlashConstants& c = chip.constants.attention;
  const TrafficBytes bytes = Traffic(a, KeysSeen(a));
  const double launch = chip.launch + ToSeconds(c.start);
  KernelEstimate best = Combine(a, QueryTiles(a, chip), bytes, launch, chip);
  if (!a.backward) {
    if (MaySplitKeys(a, chip)) {
      const double merge = launch + ToSeconds(c.combine);
      const KernelEstimate split =
          Combine(a, SplitKeys(a, chip), bytes, merge, chip);
      if (split.seconds < best.seconds) best = split;
    }
  } else {
    // Before: output and its gradient are read, the FP32 gradient of the query
    // is cleared. After: it is read and written in the operands' format.
    const double queries = static_cast<double>(a.batch) *
                           static_cast<double>(a.queries) * a.query_heads;
    const double element = BytesPerElement(a.operand);
    const double passes =
        queries * (2 * a.value_dimension * element + 4.0 * a.head_dimension +
                   4.0 * a.head_dimension + a.head_dimension * element);
    best.launch += 2 * chip.launch;
    best.seconds += 2 * chip.launch + passes / chip.memory_rate;
    best.memory_bytes += passes;
  }
  // At the cache every query tile streams the keys and values it sees.
  const double tiles = std::ceil(static_cast<double>(a.queries) / c.rows);
  const double group = static_cast<double>(a.query_heads) / a.kv_heads;
  best.cache_bytes = bytes.load * std::max(1.0, tiles * group) + bytes.store;
  return best;
}

}  // namespace orrery
