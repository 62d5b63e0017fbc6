#pragma once
// Chip: one accelerator as the software sees it; one rank runs on one chip.
//
// Whoever holds a Chip holds the proof that every quantity of it was given and
// is positive. Silicon only: rates are peaks; what a kernel attains of them is
// a matter of its library (kernels.h) and of `cost`.
//
//   ASSIGN_OR_RETURN(const Chip chip, Chip::FromProto(proto));
//   chip.memory_bandwidth();          // BytesPerSecond
//   chip.peak(DType::kFp8);           // nothing on a chip without FP8 units
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "topology/machine/dtype.h"

namespace orrery {

namespace pb {
class Chip;
}  // namespace pb

// A memory between the registers and main memory.
struct CacheLevel {
  std::string name;
  // One such cache per compute unit, else one for the chip.
  bool per_unit;
  // Of one such cache.
  Bytes size;
  // Of all of them together.
  Bytes total_size;
  BytesPerSecond bandwidth;
};

// `count` equal links out of the chip.
struct LinkPort {
  std::string name;
  int count;
  // One link, one direction.
  BytesPerSecond bandwidth;

  BytesPerSecond total_bandwidth() const { return bandwidth * count; }
};

// What the cost model needs to know of the silicon.
struct Die {
  std::string node;
  // One compute die.
  SquareMillimetres area;
  int compute_dies;
  // Of the whole chip.
  std::optional<double> transistors;
};

// What a chip draws at its nominal clock, by what is busy (proto/chip.proto).
struct PowerDraw {
  Watts idle;
  // At the peak of each format.
  std::array<Watts, kAllDTypes.size()> matrix;
  Watts memory;
  double clock_exponent;
};

class Chip {
 public:
  // `path` is where the message stands, for the words of an error: every
  // violation is reported, one per line.
  static absl::StatusOr<Chip> FromProto(const pb::Chip& proto,
                                        std::string_view path = "chip");

  const std::string& name() const { return name_; }
  const std::string& description() const { return description_; }

  // Dense peak of the matrix units for operands of this format.
  std::optional<FlopsPerSecond> peak(DType dtype) const {
    return peaks_[static_cast<size_t>(dtype)];
  }
  // The clock at which that peak is stated. Requires: there is one.
  Hertz peak_clock(DType dtype) const {
    return peak_clocks_[static_cast<size_t>(dtype)];
  }
  // FP32 pointwise work, and the clock at which it is stated.
  FlopsPerSecond vector_rate() const { return vector_rate_; }
  Hertz vector_clock() const { return vector_clock_; }
  // Exponentials.
  OpsPerSecond sfu_rate() const { return sfu_rate_; }

  int compute_units() const { return compute_units_; }
  // The clock at which peaks are stated that say no other.
  Hertz clock() const { return clock_; }
  // The one that every kernel holds under load, if it is given; otherwise it
  // follows from power() and power_draw() (cost/kernel/power_limit.h).
  std::optional<Hertz> sustained_clock() const { return sustained_clock_; }
  // Of a kernel that runs alone after an idle chip; unset: as under load.
  std::optional<Hertz> burst_clock() const { return burst_clock_; }
  // The highest clock at which a rate is stated; no other clock is above it.
  Hertz highest_clock() const;

  Bytes memory() const { return memory_; }
  BytesPerSecond memory_bandwidth() const { return memory_bandwidth_; }
  Duration memory_latency() const { return memory_latency_; }
  // "HBM3e"; empty where it is not said.
  const std::string& memory_kind() const { return memory_kind_; }
  // Nearest to the compute units first.
  absl::Span<const CacheLevel> caches() const { return caches_; }
  // The level before main memory (L2), if there is any.
  const CacheLevel* last_level_cache() const {
    return caches_.empty() ? nullptr : &caches_.back();
  }

  absl::Span<const LinkPort> ports() const { return ports_; }
  std::optional<Watts> power() const { return power_; }
  const std::optional<PowerDraw>& power_draw() const { return power_draw_; }
  const std::optional<Die>& die() const { return die_; }

 private:
  Chip() = default;

  std::string name_;
  std::string description_;
  std::array<std::optional<FlopsPerSecond>, kAllDTypes.size()> peaks_;
  std::array<Hertz, kAllDTypes.size()> peak_clocks_;
  FlopsPerSecond vector_rate_;
  Hertz vector_clock_;
  OpsPerSecond sfu_rate_;
  int compute_units_ = 0;
  Hertz clock_;
  std::optional<Hertz> sustained_clock_;
  std::optional<Hertz> burst_clock_;
  Bytes memory_;
  BytesPerSecond memory_bandwidth_;
  Duration memory_latency_{};
  std::string memory_kind_;
  std::vector<CacheLevel> caches_;
  std::vector<LinkPort> ports_;
  std::optional<Watts> power_;
  std::optional<PowerDraw> power_draw_;
  std::optional<Die> die_;
};

}  // namespace orrery
