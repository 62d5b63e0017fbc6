#pragma once
// DimensionSet: some of the dimensions.
#include <cstdint>

#include "topology/traffic/dimension.h"

namespace orrery {

class DimensionSet {
 public:
  constexpr DimensionSet() = default;
  static constexpr DimensionSet All() {
    DimensionSet all;
    all.bits_ = (1u << kDimensions) - 1;
    return all;
  }

  constexpr bool Has(Dimension dimension) const {
    return (bits_ >> static_cast<int>(dimension) & 1u) != 0;
  }
  constexpr DimensionSet With(Dimension dimension) const {
    DimensionSet more = *this;
    more.bits_ |= 1u << static_cast<int>(dimension);
    return more;
  }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(DimensionSet, DimensionSet) = default;

 private:
  uint32_t bits_ = 0;
};

}  // namespace orrery
