#include "cost/kernel/kernel_chip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/status.h"

namespace orrery {
namespace {

// Enough parts to give every unit a share of the longest reduction.
constexpr int kAnySplit = 16;

// FLOP/s at a clock of the units that run operands of `dtype`: its own, or
// those of the next wider format. A rate scales from the clock it is stated at.
double PeakAt(double clock, const Chip& chip, DType dtype) {
  const double vector =
      chip.vector_rate().value() * (clock / chip.vector_clock().value());
  for (;;) {
    if (const auto peak = chip.peak(dtype)) {
      return peak->value() * (clock / chip.peak_clock(dtype).value());
    }
    switch (dtype) {
      case DType::kFp4:
      case DType::kInt4:
        dtype = DType::kFp8;
        break;
      case DType::kFp8:
      case DType::kInt8:
      case DType::kFp12:
      case DType::kFp16:
        dtype = DType::kBf16;
        break;
      case DType::kBf16:
        dtype = DType::kTf32;
        break;
      case DType::kTf32:
        dtype = DType::kFp32;
        break;
      case DType::kFp32:
        return vector;
      case DType::kFp64:
        return vector / 2;
    }
  }
}

const KernelPrecision* PrecisionOf(const KernelConstants& constants,
                                   DType dtype) {
  for (const KernelPrecision& precision : constants.precisions) {
    if (precision.dtype == dtype) return &precision;
  }
  return nullptr;
}

absl::StatusOr<FlashConstants> Implementation(const Kernels& kernels,
                                              const std::string& name) {
  for (const FlashConstants& flash : kernels.constants().flash_attention) {
    if (flash.name == name) return flash;
  }
  return absl::InvalidArgumentError(
      fmt::format("kernels '{}' have no attention '{}'", kernels.name(), name));
}

}  // namespace

absl::StatusOr<KernelChip> KernelChip::Create(const Chip& chip,
                                              const Kernels& kernels,
                                              const KernelOptions& options) {
  const CacheLevel* cache = chip.last_level_cache();
  if (cache == nullptr) {
    return absl::InvalidArgumentError(
        fmt::format("chip '{}': cache: not set; the time of a kernel depends "
                    "on its last level",
                    chip.name()));
  }
  KernelChip result;
  const KernelConstants& constants = kernels.constants();
  result.constants = constants;
  result.extrapolated = constants.taken_over || !kernels.MadeFor(chip);
  if (options.implementation.has_value()) {
    ASSIGN_OR_RETURN(result.constants.attention,
                     Implementation(kernels, *options.implementation));
  }
  result.power = PowerLimit::Of(chip, options.clock);
  result.units = chip.compute_units();
  result.clock_by_share = constants.clock_by_share && !result.power.fixed();
  result.nominal_cycle = 1 / chip.clock().value();
  result.cycle =
      1 / (chip.clock().value() *
           result.power.Clock(DType::kBf16, constants.matrix_efficiency,
                              kProductMemory));
  for (const DType dtype : kAllDTypes) {
    const auto i = static_cast<size_t>(dtype);
    const KernelPrecision* precision = PrecisionOf(constants, dtype);
    const double efficiency =
        constants.matrix_efficiency *
        (precision == nullptr ? 1 : precision->efficiency);
    result.unit_peak[i] =
        PeakAt(chip.clock().value(), chip, dtype) / result.units;
    result.nominal_rate[i] = result.unit_peak[i] * efficiency;
    result.unit_rate[i] = result.nominal_rate[i] *
                          result.power.Clock(dtype, efficiency, kProductMemory);
    result.max_split[i] = precision == nullptr
                              ? kAnySplit
                              : precision->max_split.value_or(kAnySplit);
    result.step_cycles[i] =
        precision == nullptr
            ? constants.step_cycles
            : precision->step_cycles.value_or(constants.step_cycles);
    result.memory_share[i] =
        precision == nullptr ? 1 : precision->memory_efficiency;
  }
  const double vector_clock = result.power.VectorClock();
  result.vector_rate = chip.vector_rate().value() * vector_clock *
                       (chip.clock().value() / chip.vector_clock().value());
  result.exponential_rate = chip.sfu_rate().value() * vector_clock;
  result.memory_rate =
      chip.memory_bandwidth().value() * constants.memory_efficiency;
  result.cache_rate = cache->bandwidth.value() * constants.cache_efficiency;
  result.cache_size = static_cast<double>(cache->total_size.value());
  result.launch =
      ToSeconds(options.launch == LaunchMode::kHost ? constants.launch
                                                    : constants.graph_launch);
  result.attention_form = options.attention;
  result.warm_cache = options.warm_cache;
  return result;
}

const std::vector<MatrixTile>& KernelChip::Tiles(DType dtype) const {
  const KernelPrecision* precision = PrecisionOf(constants, dtype);
  return precision == nullptr || precision->tiles.empty() ? constants.tiles
                                                          : precision->tiles;
}

double Overlapped(double a, double b, double exponent) {
  const double larger = std::max(a, b);
  if (larger <= 0) return 0;
  const double ratio = std::min(a, b) / larger;
  return larger * std::pow(1 + std::pow(ratio, exponent), 1 / exponent);
}

}  // namespace orrery
