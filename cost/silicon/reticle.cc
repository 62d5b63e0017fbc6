#include "cost/silicon/reticle.h"

#include <algorithm>
#include <cmath>

namespace orrery {

Stitching StitchingOf(const Reticle& reticle, SquareMillimetres die) {
  constexpr double kMost = 1e6;  // no wafer holds as many
  const int fields =
      static_cast<int>(std::clamp(std::ceil(die / reticle.area()), 1.0, kMost));
  const int side = static_cast<int>(std::floor(std::sqrt(fields)));
  const int rest = fields - side * side;
  return {fields, 2 * side * (side - 1) + 2 * rest - (rest + side - 1) / side};
}

double ReticleUse(const Reticle& reticle, SquareMillimetres die) {
  const double field = reticle.area().value();
  const double exposed = field * std::max(1.0, std::ceil(die.value() / field));
  return std::floor(exposed / die.value()) * die.value() / exposed;
}

double LithographyWaste(const Reticle& reticle, SquareMillimetres die,
                        double lithography) {
  if (lithography == 0) return 1;
  return (1 - lithography) + lithography / ReticleUse(reticle, die);
}

}  // namespace orrery
