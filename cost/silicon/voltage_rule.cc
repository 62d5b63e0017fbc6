#include "cost/silicon/voltage_rule.h"

#include <cmath>

namespace orrery {
namespace {

// The alpha-power law: threshold over nominal voltage, exponent, and the least
// voltage over nominal.
constexpr double kThreshold = 0.4;
constexpr double kAlpha = 1.3;
constexpr double kLeastVoltage = 0.75;

// Clock over nominal at a voltage over nominal.
double ClockAt(double voltage) {
  const auto law = [](double v) {
    return std::pow(v - kThreshold, kAlpha) / v;
  };
  return law(voltage) / law(1);
}

}  // namespace

double CorePower(double clock) {
  double low = kLeastVoltage, high = 1.5;
  if (clock <= ClockAt(low)) return clock * low * low;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (ClockAt(middle) < clock ? low : high) = middle;
  }
  return clock * high * high;
}

double ClockFor(double power) {
  double low = 0.05, high = 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (CorePower(middle) < power ? low : high) = middle;
  }
  return low;
}

}  // namespace orrery
