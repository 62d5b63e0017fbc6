#include "cost/silicon/package_cost.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "cost/silicon/assembly.h"
#include "cost/silicon/die_cost.h"

namespace orrery {
namespace {

// Share of a design's cost that grows with the area, stated for 300 mm2
// (Chiplet Actuary: modules 0.5 and chip 0.3; the rest is fixed).
constexpr double kDesignByArea = 0.8;
constexpr double kDesignStatedFor = 300;
// Of embedding one known-good bridge: a judgement.
constexpr double kBridgeYield = 0.998;

}  // namespace

struct PackageModel::Built {
  Part part;
  double yield = 1;
  GramsCo2 carbon{};
  std::vector<DieLine> dies;
};

PackageModel::Built PackageModel::Build(int index,
                                        const PriceDraw& draw) const {
  const Level& level = levels_[static_cast<size_t>(index)];
  Built built;
  std::vector<Part> parts;
  CostBreakdown design;
  for (const Level::Entry& entry : level.entries) {
    if (entry.die >= 0) {
      const Die& die = dies_[static_cast<size_t>(entry.die)];
      const double defects = FatalDefects(
          die.size.area(), DefectsPerSquareCentimetre(die.defects.At(draw)));
      const double yield =
          HarvestedYield({YieldRule::kNegativeBinomial, die.clustering},
                         {die.units, die.spare, die.unit_share}, defects);
      const double pass = 1 - (1 - yield) * die.coverage;
      const Dollars raw(die.wafer.At(draw) / die.gross_dies);
      Part part{.cost = {.raw_dies = raw,
                         .die_defects = raw * (1 / pass - 1),
                         .test = die.test / pass},
                .quality = yield / pass,
                .count = entry.count};
      built.dies.push_back({die.name, die.process, entry.count, die.size.area(),
                            die.gross_dies, yield, part.cost.recurring()});
      built.carbon += CarbonOfArea(die.fab, die.size.area()) *
                      static_cast<double>(entry.count) * (1 / pass);
      if (!die.bought) {
        design.nre += Dollars(
            (die.design.At(draw) *
                 (kDesignByArea * die.size.area().value() / kDesignStatedFor +
                  (1 - kDesignByArea)) +
             die.masks.At(draw)) *
            entry.count / die.made);
      }
      parts.push_back(part);
    } else if (entry.memory >= 0) {
      const Memory& memory = memories_[static_cast<size_t>(entry.memory)];
      parts.push_back({.cost = {.memory = Dollars(memory.price.At(draw) *
                                                  memory.gigabytes)},
                       .quality = memory.quality,
                       .count = entry.count});
    } else {
      Built inner = Build(entry.level, draw);
      design.nre += inner.part.cost.nre * static_cast<double>(entry.count);
      inner.part.cost.nre = Dollars();
      inner.part.count = entry.count;
      built.carbon += inner.carbon * static_cast<double>(entry.count);
      built.yield *= std::pow(inner.yield, entry.count);
      for (DieLine& line : inner.dies) {
        line.count *= entry.count;
        built.dies.push_back(std::move(line));
      }
      parts.push_back(inner.part);
    }
  }
  const double bond = std::min(1.0, level.bond_yield.At(draw));
  double pieces = 0;
  for (const Part& part : parts) pieces += part.count;
  // In a stack the part below is bonded to nothing.
  const bool stack = !level.has_carrier && !level.has_substrate;
  if (stack) pieces -= 1;
  const double joined = std::pow(bond, pieces) *
                        std::pow(kBridgeYield, level.bridges) *
                        level.mount_yield;
  built.yield *= joined;
  Carrier carrier;
  if (level.has_carrier) {
    carrier.cost =
        Dollars(level.carrier_price.At(draw) * level.carrier_area.value());
    carrier.yield = YieldOf(
        {YieldRule::kNegativeBinomial, level.carrier_clustering},
        FatalDefects(level.carrier_area, DefectsPerSquareCentimetre(
                                             level.carrier_defects.At(draw))));
    carrier.flow =
        level.chip_first ? Carrier::Flow::kChipFirst : Carrier::Flow::kChipLast;
    if (level.bridges > 0) {
      carrier.cost += Dollars(level.bridge_price.At(draw) * level.bridges);
    }
  }
  Dollars work(level.has_substrate ? level.substrate_price.At(draw) *
                                         level.substrate_area.value()
                                   : 0);
  built.part = Assemble(carrier, parts,
                        {.line_yield = joined,
                         .work = work,
                         .test = level.test,
                         .coverage = level.coverage});
  built.part.cost.test += Dollars(level.module_price.At(draw));
  built.part.cost.nre = design.nre + Dollars(level.design.At(draw) / units_);
  built.carbon = built.carbon * (1 / built.yield) + GramsCo2(level.carbon_g);
  return built;
}

PackageCost PackageModel::Evaluate(const PriceDraw& draw) const {
  CHECK(!levels_.empty());
  Built built = Build(static_cast<int>(levels_.size()) - 1, draw);
  return {.cost = built.part.cost,
          .quality = built.part.quality,
          .assembly_yield = built.yield,
          .carbon = built.carbon,
          .dies = std::move(built.dies)};
}

}  // namespace orrery
