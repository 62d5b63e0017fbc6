#pragma once
// Small draws that storms are made of.
#include <initializer_list>
#include <vector>

#include "base/random.h"

namespace orrery {

inline bool Chance(Rng& rng, double probability) {
  return rng.Uniform() < probability;
}

template <class T>
T OneOf(Rng& rng, const std::vector<T>& items) {
  return items[rng.Below(items.size())];
}
template <class T>
T OneOf(Rng& rng, std::initializer_list<T> items) {
  return items.begin()[rng.Below(items.size())];
}

// Requires: n >= 1.
inline int DrawDivisor(Rng& rng, int n) {
  std::vector<int> divisors;
  for (int d = 1; d <= n; ++d) {
    if (n % d == 0) divisors.push_back(d);
  }
  return OneOf(rng, divisors);
}

}  // namespace orrery
