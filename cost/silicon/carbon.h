#pragma once
// Carbon of making silicon, by ACT (Gupta et al., ISCA 2022;
// facebookresearch/ACT):
//
//   per area = (grid x fab energy + gases + material) / yield
//
// in grams of CO2 equivalents per square centimetre, plus a fixed amount for
// the package.
#include "base/units.h"

namespace orrery {

using GramsCo2 = Quantity<struct GramsCo2Tag, double>;

struct FabCarbon {
  // Of the grid the fab is on.
  double grid_g_per_kwh = 583;
  double energy_kwh_per_cm2 = 0;
  double gases_g_per_cm2 = 0;
  double material_g_per_cm2 = 500;
  double yield = 0.875;
};

inline GramsCo2 CarbonOfArea(const FabCarbon& fab, SquareMillimetres area) {
  return GramsCo2((fab.grid_g_per_kwh * fab.energy_kwh_per_cm2 +
                   fab.gases_g_per_cm2 + fab.material_g_per_cm2) /
                  fab.yield * area.value() / 100);
}

}  // namespace orrery
