#pragma once
// Yield of a die: the share of dies without a fatal defect.
//
// x is the mean number of fatal defects on a die, critical area x defect
// density. The models differ in how defects cluster:
//
//   kPoisson            exp(-x)
//   kMurphy             ((1 - exp(-x)) / x)^2
//   kSeeds              1 / (1 + x)
//   kSeedsRoot          exp(-sqrt x)
//   kNegativeBinomial   (1 + x / alpha)^-alpha
//   kBoseEinstein       (1 + x)^-layers, x of one critical layer
//
// (Stapper, IBM J. Res. Dev. 27(6), 1983, for all but the last.) With
// harvesting a die of replicated units is good as long as no more units than
// the spare ones are bad: see HarvestedYield.
#include <cstdint>

#include "cost/silicon/geometry.h"

namespace orrery {

enum class YieldRule : uint8_t {
  kPoisson,
  kMurphy,
  kSeeds,
  kSeedsRoot,
  kNegativeBinomial,
  kBoseEinstein,
};

struct YieldModel {
  YieldRule rule = YieldRule::kNegativeBinomial;
  // Of defects; the negative binomial only.
  double clustering = 10;
  // Critical ones; Bose-Einstein only.
  double layers = 1;
};

// Mean fatal defects of an area. `critical` is the share of it where a defect
// is fatal.
double FatalDefects(SquareMillimetres area, DefectsPerSquareCentimetre density,
                    double critical = 1);

// Requires: defects >= 0.
double YieldOf(const YieldModel& model, double defects);

// What may be switched off: `units` alike, together `share` of the die's area,
// of which `spare` may be bad.
struct Harvest {
  int units = 0;
  int spare = 0;
  double share = 0;
};

// Y(rest) times the chance that at most `spare` units are hit, each by itself
// (Poisson within a unit). Requires: 0 <= share < 1.
double HarvestedYield(const YieldModel& model, const Harvest& harvest,
                      double defects);

}  // namespace orrery
