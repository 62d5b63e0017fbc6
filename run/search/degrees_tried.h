#pragma once
// Degrees of parallelism that a search tries: divisors up to a limit, beyond
// which a plan spends its time on communication or on idle kernels.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace orrery {

inline constexpr int kMostTensor = 64;

inline std::vector<int> Divisors(int64_t n, int64_t most) {
  std::vector<int> divisors;
  for (int64_t d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) divisors.push_back(static_cast<int>(d));
  }
  return divisors;
}

}  // namespace orrery
