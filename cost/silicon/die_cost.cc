#include "cost/silicon/die_cost.h"

#include <cmath>

#include "base/format.h"

namespace orrery {

absl::StatusOr<DieCost> CostOfDie(const Process& process, const DieSize& size,
                                  const Harvest& harvest, const DieTest& test) {
  const SquareMillimetres area = size.area();
  const Stitching stitching = StitchingOf(process.reticle, area);
  if (stitching.seams > 0 && process.stitch_yield <= 0) {
    return absl::InvalidArgumentError(fmt::format(
        "a die of {:.0f} mm2 does not fit the reticle of {:.0f} mm2; split it, "
        "or say the yield of a stitch",
        area.value(), process.reticle.area().value()));
  }
  DieCost result;
  result.gross_dies = GrossDies(process.rule, process.wafer, size);
  if (result.gross_dies <= 0) {
    return absl::InvalidArgumentError(
        fmt::format("a die of {:.0f} mm2 does not fit a wafer of {:.0f} mm",
                    area.value(), process.wafer.diameter.value()));
  }
  result.yield =
      HarvestedYield(
          process.yield, harvest,
          FatalDefects(area, process.defects, process.critical_area)) *
      process.line_yield *
      (stitching.seams > 0 ? std::pow(process.stitch_yield, stitching.seams)
                           : 1);
  const double pass = 1 - (1 - result.yield) * test.coverage;
  result.quality = result.yield / pass;
  const Dollars raw =
      process.wafer_price *
      (LithographyWaste(process.reticle, area, process.lithography) /
       result.gross_dies);
  result.cost.raw_dies = raw;
  result.cost.die_defects = raw * (1 / pass - 1);
  result.cost.test = test.cost / pass;
  return result;
}

}  // namespace orrery
