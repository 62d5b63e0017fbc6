#pragma once
// DieCost: what a tested die costs, and how sure one can be that it is good.
//
//   pass    = 1 - (1 - Y) coverage          dies that pass the test
//   quality = Y / pass                      of those, the good ones
//   cost    = (wafer / gross + test) / pass
//
// (CATCH, arXiv 2503.15753; with coverage 1 and no test the known-good die of
// Chiplet Actuary.) A die above the reticle is stitched: see reticle.h.
#include <absl/status/statusor.h>

#include "cost/silicon/cost_breakdown.h"
#include "cost/silicon/die_yield.h"
#include "cost/silicon/gross_dies.h"
#include "cost/silicon/reticle.h"

namespace orrery {

// A process as the cost of dies sees it.
struct Process {
  Dollars wafer_price{};
  DefectsPerSquareCentimetre defects{};
  YieldModel yield = {};
  // Share of an area where a defect is fatal.
  double critical_area = 1;
  // Of wafers that survive the line.
  double line_yield = 1;
  Wafer wafer = {};
  GrossDieRule rule = GrossDieRule::kExactGrid;
  Reticle reticle = {};
  // Share of a wafer's cost that is exposure; 0 leaves fields out of it.
  double lithography = 0;
  // Of one seam of a die that needs several fields; nothing: such dies are
  // refused.
  double stitch_yield = 0;
};

struct DieTest {
  double coverage = 1;
  Dollars cost{};
};

struct DieCost {
  double gross_dies = 0;
  double yield = 0;
  double quality = 1;
  CostBreakdown cost;
};

// The error says that the die is too large.
absl::StatusOr<DieCost> CostOfDie(const Process& process, const DieSize& size,
                                  const Harvest& harvest = {},
                                  const DieTest& test = {});

}  // namespace orrery
