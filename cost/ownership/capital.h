#pragma once
// Capital as a cost per hour.
//
//   recovery   (C - R / (1+r)^T) r / (1 - (1+r)^-T) per year: interest r over
//              T years, with a residual value R
//   decay      C 0.14 ln 10 / 8766 per hour: hardware of the same use gets
//              cheaper by 0.14 orders of magnitude a year (Epoch AI, arXiv
//              2405.21015)
#include <cmath>

#include "base/units.h"

namespace orrery {

inline constexpr double kHoursPerYear = 8766;
// Orders of magnitude by which a dollar buys more, a year.
inline constexpr double kPriceDecay = 0.14;

// Per year. Requires: years > 0, interest >= 0.
inline Dollars CapitalRecovery(Dollars price, Dollars residual, double interest,
                               double years) {
  if (interest == 0) return (price - residual) / years;
  const double grown = std::pow(1 + interest, years);
  return (price - residual / grown) * (interest / (1 - 1 / grown));
}

inline DollarsPerHour DecayPerHour(Dollars price) {
  return DollarsPerHour(price.value() * kPriceDecay * std::log(10.0) /
                        kHoursPerYear);
}

// What it is worth after some years of that decay.
inline Dollars DecayedValue(Dollars price, double years) {
  return price * std::pow(10.0, -kPriceDecay * years);
}

}  // namespace orrery
