#pragma once
// KernelChip: a chip and its libraries as the formulas of kernel time see them.
//
// Rates that kernels attain, already multiplied out of peaks, clocks and
// shares, in plain doubles per second: made once, then read by millions of
// evaluations. The functions of this folder take one; nobody else should need
// it.
#include <absl/status/statusor.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "cost/kernel/op_time.h"
#include "cost/kernel/power_limit.h"
#include "topology/machine/chip.h"
#include "topology/machine/kernels.h"

namespace orrery {

// How kernels are started.
enum class LaunchMode : uint8_t {
  kHost,   // one after the other by the host
  kGraph,  // replayed from a captured graph
};

enum class AttentionForm : uint8_t {
  // Matrix units, exponentials and memory overlap as far as the chip lets them.
  kOverlapped,
  // Load, products, pointwise work and store one after the other: the sum of
  // arXiv 2507.02456. For comparison.
  kAdditive,
};

struct KernelOptions {
  LaunchMode launch = LaunchMode::kHost;
  AttentionForm attention = AttentionForm::kOverlapped;
  // A clock other than the one the chip sustains: another power limit, or a
  // locked one.
  std::optional<Hertz> clock = std::nullopt;
  // The implementation of attention, other than the one the kernels name.
  std::optional<std::string> implementation = std::nullopt;
  // The same product ran before: what fits into the last cache is still there.
  bool warm_cache = false;
};

struct KernelChip {
  // The error names what the chip lacks.
  static absl::StatusOr<KernelChip> Create(const Chip& chip,
                                           const Kernels& kernels,
                                           const KernelOptions& options = {});

  double units = 0;
  // FLOP/s of one compute unit in the main loop of a large product, by operand
  // format, at the clock that such a product holds; the peak at the nominal
  // clock, and what the main loop makes of it. A format the chip has no units
  // for runs as the next wider one.
  std::array<double, kAllDTypes.size()> unit_rate{};
  std::array<double, kAllDTypes.size()> unit_peak{};
  std::array<double, kAllDTypes.size()> nominal_rate{};
  // The most parts a reduction is cut into, by operand format; the cycles of a
  // step that is bound by latency; the share of the memory rate of a product.
  std::array<int, kAllDTypes.size()> max_split{};
  std::array<double, kAllDTypes.size()> step_cycles{};
  std::array<double, kAllDTypes.size()> memory_share{};
  // Seconds, at the clock of a large product, and at the nominal one.
  double cycle = 0;
  double nominal_cycle = 0;
  // The power limit is applied to each product by what it keeps busy; until
  // then its rates are at the nominal clock.
  bool clock_by_share = false;
  // What is left of the nominal clock, at which the next two rates are.
  PowerLimit power = PowerLimit::Nominal();
  double vector_rate = 0;
  double exponential_rate = 0;
  double memory_rate = 0;
  double cache_rate = 0;
  double cache_size = 0;
  double launch = 0;
  AttentionForm attention_form = AttentionForm::kOverlapped;
  bool warm_cache = false;
  KernelConstants constants;
  // The constants were not measured on this chip.
  bool extrapolated = false;

  double UnitRate(DType dtype) const {
    return unit_rate[static_cast<size_t>(dtype)];
  }
  double UnitPeak(DType dtype) const {
    return unit_peak[static_cast<size_t>(dtype)];
  }
  // The rate and the cycle of products before the power limit is applied to
  // each of them, or after it was to all.
  double ProductRate(DType dtype) const {
    return clock_by_share ? nominal_rate[static_cast<size_t>(dtype)]
                          : UnitRate(dtype);
  }
  double ProductCycle() const { return clock_by_share ? nominal_cycle : cycle; }
  // Cycles of a tile besides its main loop, if it reads and writes so many
  // bytes of the result; and in seconds.
  double TileEndCycles(double result_bytes) const {
    double cycles = constants.tile_overhead_cycles;
    if (const auto rate = constants.epilogue_bytes_per_cycle) {
      cycles += result_bytes / *rate;
    }
    return cycles;
  }
  double TileEnds(double result_bytes) const {
    return TileEndCycles(result_bytes) * cycle;
  }
  int MaxSplit(DType dtype) const {
    return max_split[static_cast<size_t>(dtype)];
  }
  double StepCycles(DType dtype) const {
    return step_cycles[static_cast<size_t>(dtype)];
  }
  // Bytes per second of products with such operands.
  double ProductMemoryRate(DType dtype) const {
    return memory_rate * memory_share[static_cast<size_t>(dtype)];
  }
  // What works on tiles of this kind: units, or groups of them.
  double UnitsFor(const MatrixTile& tile) const {
    return tile.units == 1 ? units
                           : std::max(1.0, std::floor(units / tile.units));
  }
  // The tiles that products with such operands choose from.
  const std::vector<MatrixTile>& Tiles(DType dtype) const;
};

// Share of the memory bandwidth that a large product takes: the profiled ones
// of validation/gemm_a100_nsight.csv move 0.1 to 0.4 TB/s of 2.04.
inline constexpr double kProductMemory = 0.15;

// What the formulas say of one kernel, in seconds and bytes.
struct KernelEstimate {
  double seconds = 0;
  double launch = 0;
  double cache_bytes = 0;
  double memory_bytes = 0;
  Limit limit = Limit::kLaunch;
};

// Two things that overlap, but not perfectly: (a^p + b^p)^(1/p). At least the
// larger, at most the sum, and growing with either.
double Overlapped(double a, double b, double exponent);

}  // namespace orrery
