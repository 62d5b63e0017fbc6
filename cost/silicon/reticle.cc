#include "cost/silicon/reticle.h"

#include <cmath>

namespace orrery {

Stitching StitchingOf(const Reticle& reticle, SquareMillimetres die) {
  const int fields =
      std::max(1, static_cast<int>(std::ceil(die / reticle.area())));
  const int side = static_cast<int>(std::floor(std::sqrt(fields)));
  const int rest = fields - side * side;
  return {fields, 2 * side * (side - 1) + 2 * rest - (rest + side - 1) / side};
}

double ReticleUse(const Reticle& reticle, SquareMillimetres die) {
  const double field = reticle.area().value();
  double exposed = field;
  while (exposed < die.value()) exposed += field;
  return std::floor(exposed / die.value()) * die.value() / exposed;
}

double LithographyWaste(const Reticle& reticle, SquareMillimetres die,
                        double lithography) {
  if (lithography == 0) return 1;
  return (1 - lithography) + lithography / ReticleUse(reticle, die);
}

}  // namespace orrery
