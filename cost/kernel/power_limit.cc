#include "cost/kernel/power_limit.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

// No part runs slower than this: below it leakage is most of the power, and
// the formula no longer describes it.
constexpr double kLeastClock = 0.2;

}  // namespace

PowerLimit PowerLimit::Nominal() {
  PowerLimit result;
  result.fixed_ = 1;
  return result;
}

PowerLimit PowerLimit::Of(const Chip& chip, std::optional<Hertz> clock) {
  PowerLimit result;
  if (!clock.has_value()) clock = chip.sustained_clock();
  if (clock.has_value()) {
    result.fixed_ = clock->value() / chip.clock().value();
    return result;
  }
  if (!chip.power().has_value() || !chip.power_draw().has_value()) {
    return Nominal();
  }
  const PowerDraw& draw = *chip.power_draw();
  result.limit_ = chip.power()->value() - draw.idle.value();
  for (size_t i = 0; i < draw.matrix.size(); ++i) {
    result.matrix_[i] = draw.matrix[i].value();
  }
  result.memory_ = draw.memory.value();
  result.exponent_ = draw.clock_exponent;
  return result;
}

double PowerLimit::Clock(DType dtype, double matrix, double memory) const {
  if (fixed_.has_value()) return *fixed_;
  const double left = limit_ - memory * memory_;
  const double wanted = matrix * matrix_[static_cast<size_t>(dtype)];
  if (wanted <= left) return 1;
  if (left <= 0) return kLeastClock;
  return std::max(kLeastClock, std::pow(left / wanted, 1 / exponent_));
}

double PowerLimit::VectorClock() const { return fixed_.value_or(1); }

}  // namespace orrery
