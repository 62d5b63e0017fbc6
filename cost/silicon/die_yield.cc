#include "cost/silicon/die_yield.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace orrery {

double FatalDefects(SquareMillimetres area, DefectsPerSquareCentimetre density,
                    double critical) {
  return density.value() / 100 * area.value() * critical;
}

double YieldOf(const YieldModel& model, double defects) {
  CHECK(defects >= 0) << defects;
  if (defects == 0) return 1;
  switch (model.rule) {
    case YieldRule::kPoisson:
      return std::exp(-defects);
    case YieldRule::kMurphy:
      return std::pow(-std::expm1(-defects) / defects, 2);
    case YieldRule::kSeeds:
      return 1 / (1 + defects);
    case YieldRule::kSeedsRoot:
      return std::exp(-std::sqrt(defects));
    case YieldRule::kNegativeBinomial:
      return std::pow(1 + defects / model.clustering, -model.clustering);
    case YieldRule::kBoseEinstein:
      return std::pow(1 + defects, -model.layers);
  }
  CHECK(false) << "no such rule";
  return 0;
}

double HarvestedYield(const YieldModel& model, const Harvest& harvest,
                      double defects) {
  if (harvest.units == 0) return YieldOf(model, defects);
  CHECK(harvest.share >= 0 && harvest.share < 1) << harvest.share;
  const double good = std::exp(-defects * harvest.share / harvest.units);
  // Terms C(m, i) (1 - y)^i y^(m - i), each from the one before it.
  double term = std::pow(good, harvest.units);
  double enough = term;
  for (int i = 1; i <= std::min(harvest.spare, harvest.units); ++i) {
    term *= (1 - good) / good * (harvest.units - i + 1) / i;
    enough += term;
  }
  return YieldOf(model, defects * (1 - harvest.share)) * std::min(1.0, enough);
}

}  // namespace orrery
