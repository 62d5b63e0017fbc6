#pragma once
// Gross dies per wafer: how many whole dies a round wafer holds.
//
// The exact rule places a grid of dies at many offsets and counts what lies
// whole within the usable circle; it is the default. The others are what public
// cost models use instead, for comparison with them:
//
//   kClassic      pi d^2 / (4 A') - pi d / sqrt(2 A'), A' = A + 2 s sqrt(A) +
//   s^2
//                 (Chiplet Actuary; with no edge and street: ttm-cas)
//   kExponential  pi d^2 / (4 A) exp(-2 sqrt(A) / d), streets left out
//   kGoogle       round((D - 6) pi (D / (4 A') - 1 / sqrt(2 A'))),
//                 A' = (w + s)(h + s) (google/chiplets-cost-model)
//   kCatchGrid    a grid flush with the left rim, best of all column heights
//   kCatchRows    rows that need not line up
//   kCatchClosed  pi d (d / (4 A') - 1 / sqrt(2 A')), A' = (w + s)(h + s)
//
// d is the usable diameter, D the wafer's, s the saw street. Real-valued rules
// stay real-valued. The last three are those of nanocad-lab/CATCH.
//
// Cost: the exact rule some 10^5 steps for a die of a reticle's size.
#include <cstdint>

#include "cost/silicon/geometry.h"

namespace orrery {

enum class GrossDieRule : uint8_t {
  kExactGrid,
  kClassic,
  kExponential,
  kGoogle,
  kCatchGrid,
  kCatchRows,
  kCatchClosed,
};

// Zero if not even one die fits, or a side is not positive.
double GrossDies(GrossDieRule rule, const Wafer& wafer, const DieSize& die);

}  // namespace orrery
