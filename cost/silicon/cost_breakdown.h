#pragma once
// CostBreakdown: what a part costs, by cause. Summed only to be shown.
#include "base/units.h"

namespace orrery {

struct CostBreakdown {
  // Dies as if all were good, and what the bad ones add.
  Dollars raw_dies{};
  Dollars die_defects{};
  // Memory stacks that are bought.
  Dollars memory{};
  // Carriers, substrates, bonding; what is lost of them, and the good dies and
  // stacks that are lost with them.
  Dollars package{};
  Dollars package_scrap{};
  Dollars wasted_dies{};
  Dollars test{};
  // Design and masks, spread over the units.
  Dollars nre{};

  Dollars total() const { return recurring() + nre; }
  Dollars recurring() const {
    return raw_dies + die_defects + memory + package + package_scrap +
           wasted_dies + test;
  }

  friend CostBreakdown operator+(CostBreakdown a, const CostBreakdown& b) {
    a.raw_dies += b.raw_dies;
    a.die_defects += b.die_defects;
    a.memory += b.memory;
    a.package += b.package;
    a.package_scrap += b.package_scrap;
    a.wasted_dies += b.wasted_dies;
    a.test += b.test;
    a.nre += b.nre;
    return a;
  }
  friend CostBreakdown operator*(double n, const CostBreakdown& a) {
    return {n * a.raw_dies,      n * a.die_defects, n * a.memory, n * a.package,
            n * a.package_scrap, n * a.wasted_dies, n * a.test,   n * a.nre};
  }
};

}  // namespace orrery
