#include "cost/silicon/gross_dies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace orrery {
namespace {

constexpr double kPi = std::numbers::pi;

// Offsets of the grid that are tried along each side of a die.
constexpr int kOffsets = 40;
// Lets a die touch the rim in spite of rounding.
constexpr double kTouch = 1e-9;

// Dies of the grid whose lower left corner is at `x0`, `y0` that lie whole
// within the radius.
int64_t CountAt(double x0, double y0, double width, double height,
                double pitch_x, double pitch_y, double radius) {
  int64_t dies = 0;
  const int64_t first =
      static_cast<int64_t>(std::floor((-radius - y0) / pitch_y)) - 1;
  for (int64_t row = first;; ++row) {
    const double low = y0 + static_cast<double>(row) * pitch_y;
    const double high = low + height;
    if (low > radius) break;
    const double far = std::max(std::abs(low), std::abs(high));
    if (far > radius) continue;
    const double half = std::sqrt(radius * radius - far * far) + kTouch;
    // Dies x0 + i pitch .. + width within [-half, half].
    const double lowest = std::ceil((-half - x0) / pitch_x);
    const double highest = std::floor((half - width - x0) / pitch_x);
    if (highest >= lowest) dies += static_cast<int64_t>(highest - lowest) + 1;
  }
  return dies;
}

double ExactGrid(const Wafer& wafer, const DieSize& die) {
  const double width = die.width.value();
  const double height = die.height.value();
  const double pitch_x = width + wafer.saw_street.value();
  const double pitch_y = height + wafer.saw_street.value();
  const double radius = wafer.usable().value() / 2;
  int64_t best = 0;
  for (int i = 0; i < kOffsets; ++i) {
    for (int j = 0; j < kOffsets; ++j) {
      best =
          std::max(best, CountAt(pitch_x * i / kOffsets, pitch_y * j / kOffsets,
                                 width, height, pitch_x, pitch_y, radius));
    }
  }
  return static_cast<double>(best);
}

double Classic(const Wafer& wafer, const DieSize& die) {
  const double street = wafer.saw_street.value();
  const double area = die.area().value();
  const double with_street =
      area + 2 * street * std::sqrt(area) + street * street;
  const double usable = wafer.usable().value();
  return kPi * (usable / 2) * (usable / 2) / with_street -
         kPi * usable / std::sqrt(2 * with_street);
}

double Exponential(const Wafer& wafer, const DieSize& die) {
  const double usable = wafer.usable().value();
  const double area = die.area().value();
  return kPi * usable * usable / (4 * area) *
         std::exp(-2 * std::sqrt(area) / usable);
}

// The area a die takes with its streets.
double PitchArea(const Wafer& wafer, const DieSize& die) {
  return ((die.width + wafer.saw_street) * (die.height + wafer.saw_street))
      .value();
}

double Google(const Wafer& wafer, const DieSize& die) {
  const double diameter = wafer.diameter.value();
  const double area = PitchArea(wafer, die);
  return std::nearbyint((diameter - 6) * kPi *
                        (diameter / (4 * area) - 1 / std::sqrt(2 * area)));
}

double CatchClosed(const Wafer& wafer, const DieSize& die) {
  const double usable = wafer.usable().value();
  const double area = PitchArea(wafer, die);
  return usable * kPi * (usable / (4 * area) - 1 / std::sqrt(2 * area));
}

// One column of `height` dies stands flush with the left rim; rows above and
// below are those that still line up with it.
double CatchGridOf(int64_t height, double pitch_x, double pitch_y,
                   double street, double diameter) {
  const double radius = diameter / 2;
  double reach = static_cast<double>(height) * pitch_y / 2 - street / 2;
  double chord = 2 * std::sqrt(radius * radius - reach * reach);
  const double in_row = std::floor((chord + street) / pitch_x);
  double dies = in_row * static_cast<double>(height);
  reach += pitch_y;
  // A last column on the far side, where single dies may still fit.
  const double end = in_row * pitch_x - chord / 2;
  const double corner = (end + pitch_x) * (end + pitch_x);
  for (int64_t i = 0; i < height; ++i) {
    const double y = pitch_y * static_cast<double>(i) - reach + pitch_y;
    const double top = y + pitch_y;
    if (corner + y * y <= radius * radius &&
        corner + top * top <= radius * radius) {
      ++dies;
    }
  }
  const double left = (diameter - chord) / 2;
  for (; reach < radius; reach += pitch_y) {
    chord = 2 * std::sqrt(radius * radius - reach * reach);
    const double first = (diameter - chord) / 2;
    const double start = std::ceil((first - left) / pitch_x) * pitch_x + left;
    dies += 2 * std::floor((chord - (start - first)) / pitch_x);
  }
  return dies;
}

double CatchGrid(const Wafer& wafer, const DieSize& die) {
  const double street = wafer.saw_street.value();
  const double pitch_x = die.width.value() + street;
  const double pitch_y = die.height.value() + street;
  const double diameter = wafer.usable().value();
  const double radius = diameter / 2;
  if (pitch_y / 2 >= radius) return 0;
  const double rim =
      radius - std::sqrt(radius * radius - pitch_y * pitch_y / 4);
  const double across = radius - rim - pitch_x;
  if (radius * radius < across * across) return 0;
  const double tallest = std::sqrt(radius * radius - across * across);
  double best = 0;
  for (int64_t n = 1; static_cast<double>(n) * pitch_y / 2 < tallest; ++n) {
    best = std::max(best, CatchGridOf(n, pitch_x, pitch_y, street, diameter));
  }
  return best;
}

double CatchRows(const Wafer& wafer, const DieSize& die) {
  const double street = wafer.saw_street.value();
  const double pitch_x = die.width.value() + street;
  const double pitch_y = die.height.value() + street;
  const double radius = wafer.usable().value() / 2;
  const auto in_row = [&](double reach) {
    const double from_centre = reach - street / 2;
    const double square = radius * radius - from_centre * from_centre;
    if (square < 0) return 0.0;
    return std::floor((2 * std::sqrt(square) + street) / pitch_x);
  };
  // A row on the diameter, or one on each side of it.
  double centred = in_row(pitch_y / 2);
  for (double r = 1.5 * pitch_y; r < radius; r += pitch_y) {
    centred += 2 * in_row(r);
  }
  double split = 0;
  for (double r = pitch_y; r < radius; r += pitch_y) split += 2 * in_row(r);
  return std::max(centred, split);
}

}  // namespace

double GrossDies(GrossDieRule rule, const Wafer& wafer, const DieSize& die) {
  if (!(die.width.value() > 0 && die.height.value() > 0)) return 0;
  const auto of = [&] {
    switch (rule) {
      case GrossDieRule::kExactGrid:
        return ExactGrid(wafer, die);
      case GrossDieRule::kClassic:
        return Classic(wafer, die);
      case GrossDieRule::kExponential:
        return Exponential(wafer, die);
      case GrossDieRule::kGoogle:
        return Google(wafer, die);
      case GrossDieRule::kCatchGrid:
        return CatchGrid(wafer, die);
      case GrossDieRule::kCatchRows:
        return CatchRows(wafer, die);
      case GrossDieRule::kCatchClosed:
        return CatchClosed(wafer, die);
    }
    CHECK(false) << "no such rule";
    return 0.0;
  };
  return std::max(0.0, of());
}

}  // namespace orrery
