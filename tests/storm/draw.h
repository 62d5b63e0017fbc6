#pragma once
// Small draws that storms are made of.
#include <absl/strings/string_view.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/format.h"
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

// The one of these names that draws the highest number for this case, each by
// itself: a name that is added takes some cases and leaves the others as they
// are. Requires: at least one.
inline std::string DrawName(uint64_t seed, absl::string_view what,
                            int64_t number,
                            const std::vector<std::string>& names) {
  CHECK(!names.empty());
  std::string drawn;
  uint64_t most = 0;
  for (const std::string& name : names) {
    const uint64_t own =
        Rng(seed, fmt::format("{} {} {}", what, number, name)).Next();
    if (drawn.empty() || own > most || (own == most && name < drawn)) {
      drawn = name;
      most = own;
    }
  }
  return drawn;
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
