#include "workload/plan/divisors.h"

#include <algorithm>

#include "base/check.h"
#include "base/format.h"

namespace orrery {
namespace {

std::string EitherSide(int64_t below, int64_t above) {
  if (below == above) return fmt::format("{}", below);
  if (below <= 0) return fmt::format("{}", above);
  return fmt::format("{} or {}", below, above);
}

}  // namespace

std::string NearestDivisors(int64_t n, int64_t value) {
  CHECK(n >= 1);
  value = std::clamp<int64_t>(value, 1, n);
  int64_t below = 1;
  int64_t above = n;
  for (int64_t d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    for (const int64_t divisor : {d, n / d}) {
      if (divisor <= value) below = std::max(below, divisor);
      if (divisor >= value) above = std::min(above, divisor);
    }
  }
  return EitherSide(below, above);
}

std::string NearestMultiples(int64_t step, int64_t value) {
  CHECK(step >= 1);
  const int64_t below = value > 0 ? value / step * step : 0;
  return EitherSide(below, below == value ? below : below + step);
}

}  // namespace orrery
