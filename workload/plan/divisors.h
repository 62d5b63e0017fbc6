#pragma once
// What to type instead, for rules about divisibility.
#include <cstdint>
#include <string>

namespace orrery {

// "4" or "4 or 8": the divisors of `n` on either side of `value`, or `value`
// itself if it divides. Requires: n >= 1.
std::string NearestDivisors(int64_t n, int64_t value);

// "96" or "96 or 128": the multiples of `step` on either side of `value`, at
// least one step. Requires: step >= 1.
std::string NearestMultiples(int64_t step, int64_t value);

}  // namespace orrery
