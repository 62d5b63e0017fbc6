#pragma once
// Lengths and densities of silicon, as types.
//
// Defect densities are per square centimetre, as foundries quote them; sources
// that count per square millimetre say so in their name (PerSquareMillimetre).
#include "base/units.h"

namespace orrery {

using Millimetres = Quantity<struct MillimetresTag, double>;
using DefectsPerSquareCentimetre =
    Quantity<struct DefectsPerSquareCentimetreTag, double>;
using DollarsPerSquareMillimetre =
    Quantity<struct DollarsPerSquareMillimetreTag, double>;

constexpr DefectsPerSquareCentimetre PerSquareMillimetre(double defects) {
  return DefectsPerSquareCentimetre(defects * 100);
}
constexpr SquareMillimetres operator*(Millimetres a, Millimetres b) {
  return SquareMillimetres(a.value() * b.value());
}
constexpr Dollars operator*(DollarsPerSquareMillimetre price,
                            SquareMillimetres area) {
  return Dollars(price.value() * area.value());
}

// A rectangle of silicon.
struct DieSize {
  Millimetres width;
  Millimetres height;
  SquareMillimetres area() const { return width * height; }
};

// Of this area, with sides as `aspect` to one. Requires: area > 0, aspect > 0.
inline DieSize SizeOf(SquareMillimetres area, double aspect = 1) {
  return {Millimetres(std::sqrt(area.value() * aspect)),
          Millimetres(std::sqrt(area.value() / aspect))};
}

// What a wafer loses before there are dies.
struct Wafer {
  Millimetres diameter{300};
  // Of the rim, on every side.
  Millimetres edge_exclusion{3};
  // Between two dies.
  Millimetres saw_street{0.1};
  Millimetres usable() const { return diameter - 2.0 * edge_exclusion; }
};

}  // namespace orrery
