#pragma once
// When bandwidths of links count as equal: they are sums and quotients of what
// a preset states, so links that are meant to be equal may differ by rounding.
#include <algorithm>
#include <cmath>

namespace orrery {

inline constexpr double kBandwidthRounding = 1e-9;

inline bool BandwidthDiffers(double a, double b) {
  return std::abs(a - b) > kBandwidthRounding * std::max(a, b);
}

}  // namespace orrery
