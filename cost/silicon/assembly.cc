#include "cost/silicon/assembly.h"

#include <cmath>

#include "base/check.h"

namespace orrery {
namespace {

// Dies and what belongs to them; of a part, what is no package.
Dollars DieShare(const CostBreakdown& cost) {
  return cost.raw_dies + cost.die_defects + cost.memory + cost.wasted_dies +
         cost.test;
}

}  // namespace

Part Assemble(const Carrier& carrier, absl::Span<const Part> parts,
              const Joining& joining) {
  CostBreakdown sum;
  double yield = joining.line_yield / (1 + joining.voids);
  double placed = 0;
  for (const Part& part : parts) {
    sum = sum + static_cast<double>(part.count) * part.cost;
    yield *= std::pow(part.quality, part.count);
    placed += part.count;
  }
  yield *= std::pow(joining.part_yield, placed) *
           std::pow(joining.pad_yield, joining.pads) *
           std::pow(joining.via_yield, joining.vias);
  const bool last = carrier.flow == Carrier::Flow::kChipLast;
  if (!last) yield *= carrier.yield;
  const double pass = 1 - (1 - yield) * joining.coverage;
  CHECK(pass > 0) << "nothing passes";
  const double carriers = last ? 1 / (carrier.yield * pass) : 1 / pass;

  CostBreakdown cost = sum;
  cost.package += carrier.cost + joining.work;
  cost.package_scrap +=
      carrier.cost * (carriers - 1) +
      (joining.work + sum.package + sum.package_scrap) * (1 / pass - 1);
  cost.wasted_dies += DieShare(sum) * (1 / pass - 1);
  cost.test += joining.test / pass;
  return {.cost = cost, .quality = yield / pass, .count = 1};
}

Dollars CostOfUse(const Machine& machine, int parts) {
  constexpr double kSecondsPerYear = 365.0 * 24 * 3600;
  const Dollars per_year =
      machine.price / machine.life_years + machine.labour_per_year;
  const double uptime =
      machine.uptime_multiplies ? machine.uptime : 1 / machine.uptime;
  return per_year * (uptime / kSecondsPerYear * machine.seconds *
                     std::ceil(static_cast<double>(parts) / machine.group));
}

}  // namespace orrery
