#pragma once
// PowerLimit: the clock that a chip's power limit leaves a kernel.
//
// A kernel that keeps the matrix units, in some format, busy for a share
// `matrix` of the cycles and memory for a share `memory` of its bandwidth
// draws, at a share x of the nominal clock,
//
//   idle + memory * P_memory + matrix * P_matrix * x^e
//
// (switched capacitance times voltage squared times frequency, with a voltage
// that falls along with the frequency: e lies between 2 and 3). The clock is
// the highest, up to the nominal one, at which that is within the limit. So
// large products are slowed down and streams are not. A clock that is given
// holds for every kernel instead; a chip of which too little is known keeps its
// nominal clock.
#include <array>
#include <optional>

#include "base/units.h"
#include "topology/machine/chip.h"
#include "topology/machine/dtype.h"

namespace orrery {

class PowerLimit {
 public:
  // `clock`: given instead of what the chip says.
  static PowerLimit Of(const Chip& chip,
                       std::optional<Hertz> clock = std::nullopt);

  // Without a limit.
  static PowerLimit Nominal();

  // Whether one clock holds for every kernel.
  bool fixed() const { return fixed_.has_value(); }
  // The clock over the nominal one: above 0; at most 1 unless it is given.
  double Clock(DType dtype, double matrix, double memory) const;
  // Of a kernel without matrix products.
  double VectorClock() const;

 private:
  PowerLimit() = default;

  std::optional<double> fixed_;
  // Watts beyond idle, and of matrix units and memory at full use.
  double limit_ = 0;
  std::array<double, kAllDTypes.size()> matrix_{};
  double memory_ = 0;
  double exponent_ = 1;
};

}  // namespace orrery
