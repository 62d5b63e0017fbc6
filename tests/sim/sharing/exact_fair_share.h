#pragma once
// ExactFairShare: the slow reference for fair_share.h, written from the
// definition and in long double.
//
// All activities that may still grow are raised together to the highest common
// level at which no resource and no cap is exceeded, found anew from scratch in
// every round; then whoever cannot grow any more is stopped. No heap, no
// incremental sums.
#include <algorithm>
#include <limits>
#include <vector>

#include "sim/sharing/fair_share.h"

namespace orrery {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

inline std::vector<long double> ExactFairShare(const FairShareProblem& p) {
  const size_t n = p.activities();
  std::vector<long double> rates(n, 0);
  std::vector<bool> growing(n, true);
  const auto weight = [&](size_t i, size_t r) -> long double {
    for (const FairShareProblem::Use& use : p.uses_of(i)) {
      if (static_cast<size_t>(use.resource) == r) return use.weight;
    }
    return 0;
  };
  // The level at which resource `r` is full, given what is stopped.
  const auto level_of = [&](size_t r) -> long double {
    long double left = p.capacities[r];
    long double pace = 0;
    for (size_t i = 0; i < n; ++i) {
      if (growing[i]) {
        pace += weight(i, r) / p.penalties[i];
      } else {
        left -= weight(i, r) * rates[i];
      }
    }
    return pace > 0 ? left / pace : kUnlimited;
  };
  const auto cap_level = [&](size_t i) -> long double {
    return static_cast<long double>(p.rate_caps[i]) * p.penalties[i];
  };
  while (std::find(growing.begin(), growing.end(), true) != growing.end()) {
    long double level = kUnlimited;
    for (size_t r = 0; r < p.capacities.size(); ++r) {
      level = std::min(level, level_of(r));
    }
    for (size_t i = 0; i < n; ++i) {
      if (growing[i]) level = std::min(level, cap_level(i));
    }
    // Whoever is held back at this level; found before anybody is stopped.
    constexpr long double kSame = 1 + 1e-15L;
    std::vector<bool> full(p.capacities.size());
    for (size_t r = 0; r < full.size(); ++r) {
      full[r] = level_of(r) <= level * kSame;
    }
    std::vector<size_t> stopped;
    for (size_t i = 0; i < n; ++i) {
      if (!growing[i]) continue;
      bool held_back = cap_level(i) <= level * kSame;
      for (size_t r = 0; r < full.size(); ++r) {
        held_back |= full[r] && weight(i, r) > 0;
      }
      if (held_back) stopped.push_back(i);
    }
    for (const size_t i : stopped) {
      growing[i] = false;
      rates[i] = level / p.penalties[i];
    }
  }
  return rates;
}

}  // namespace orrery
