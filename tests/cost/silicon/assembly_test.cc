#include "cost/silicon/assembly.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "cost/silicon/design_cost.h"

namespace orrery {
namespace {

Part PartAt(double dollars, double quality = 1, int count = 1) {
  return {.cost = {.raw_dies = Dollars(dollars)},
          .quality = quality,
          .count = count};
}

// A carrier of 10 that yields 0.8, two dies of 100 bonded at 0.9 each:
//   chip-last: carriers 10 / (0.8 0.81), dies 200 / 0.81
//   chip-first: both over 0.8 0.81
TEST(Assembly, LosesDiesOnlyWhereTheyAreBoundToTheCarrier) {
  const Joining joining{.part_yield = 0.9};
  const Part last = Assemble({.cost = Dollars(10), .yield = 0.8},
                             {{PartAt(100, 1, 2)}}, joining);
  EXPECT_NEAR(last.cost.package_scrap.value(), 10 / (0.8 * 0.81) - 10, 1e-12);
  EXPECT_NEAR(last.cost.wasted_dies.value(), 200 / 0.81 - 200, 1e-12);
  const Part first = Assemble(
      {.cost = Dollars(10), .yield = 0.8, .flow = Carrier::Flow::kChipFirst},
      {{PartAt(100, 1, 2)}}, joining);
  EXPECT_NEAR(first.cost.recurring().value(), 210 / (0.8 * 0.81), 1e-12);
}

// Interposer and substrate, one in the other: every cost over every yield that
// comes after it.
TEST(Assembly, OfAnAssemblyCarriesItsLossesAlong) {
  const Part on_interposer = Assemble({.cost = Dollars(20), .yield = 0.7},
                                      {{PartAt(100)}}, {.part_yield = 0.95});
  const Part package =
      Assemble({.cost = Dollars(5)}, {{on_interposer}}, {.part_yield = 0.99});
  EXPECT_NEAR(package.cost.recurring().value(),
              20 / (0.7 * 0.95 * 0.99) + 100 / (0.95 * 0.99) + 5 / 0.99, 1e-9);
  EXPECT_NEAR(package.cost.package.value(), 25, 1e-12);
}

// Without losses nothing is added to what the parts cost.
TEST(Assembly, OfPerfectPartsCostsTheirSum) {
  const Part part =
      Assemble({.cost = Dollars(7)}, {{PartAt(3), PartAt(4)}}, {});
  EXPECT_DOUBLE_EQ(part.cost.total().value(), 14);
  EXPECT_DOUBLE_EQ(part.quality, 1);
}

// Escapes of a poor test are paid for in the package, a good test costs more:
// the best coverage lies between.
TEST(Assembly, HasAnInteriorOptimumOfTestCoverage) {
  const auto cost = [](double coverage) {
    const double yield = 0.7;
    const double pass = 1 - (1 - yield) * coverage;
    Part die = PartAt(50 / pass, yield / pass, 8);
    die.cost.test = Dollars(0.4 / (1 - coverage) / pass);
    return Assemble({.cost = Dollars(60)}, {{die}}, {.part_yield = 0.99})
        .cost.total()
        .value();
  };
  double best = 0;
  for (double c = 0.5; c < 0.995; c += 0.005) {
    if (best == 0 || cost(c) < cost(best)) best = c;
  }
  EXPECT_GT(best, 0.55);
  EXPECT_LT(best, 0.99);
  EXPECT_LT(cost(best), cost(0.5));
  EXPECT_LT(cost(best), cost(0.994));
}

TEST(Assembly, NeverFallsWithAWorseBond) {
  Rng rng(2, "monotone assemblies");
  for (int i = 0; i < 200; ++i) {
    const Carrier carrier{.cost = Dollars(100 * rng.Uniform()),
                          .yield = 0.5 + 0.5 * rng.Uniform()};
    const Part die = PartAt(500 * rng.Uniform(), 0.8 + 0.2 * rng.Uniform(),
                            static_cast<int>(rng.Between(1, 12)));
    const double bond = 0.9 + 0.1 * rng.Uniform();
    const double worse = bond * (0.9 + 0.1 * rng.Uniform());
    EXPECT_GE(Assemble(carrier, {{die}}, {.part_yield = worse}).cost.total(),
              Assemble(carrier, {{die}}, {.part_yield = bond}).cost.total());
  }
}

// 30 for a module in both products (1 and 2 of it, 10 units each): 1 per
// module. A chip of its own is spread over its own units.
TEST(DesignCost, IsSpreadOverAllProductsThatShareIt) {
  const auto shares = SpreadDesigns({{
      {{{"module", Dollars(30), 1}, {"small chip", Dollars(20)}}, 10},
      {{{"module", Dollars(30), 2}, {"large chip", Dollars(50)}}, 10},
  }});
  EXPECT_DOUBLE_EQ(shares[0].value(), 1 + 2);
  EXPECT_DOUBLE_EQ(shares[1].value(), 2 + 5);
}

// 500 000 dollars over five years and 100 000 of labour: 200 000 a year; ten
// seconds for two groups at an uptime of 0.5.
TEST(CostOfUse, IsPaidPerSecondOfUse) {
  const Machine machine{.price = Dollars(500000),
                        .life_years = 5,
                        .labour_per_year = Dollars(100000),
                        .uptime = 0.5,
                        .seconds = 10,
                        .group = 4};
  EXPECT_NEAR(CostOfUse(machine, 5).value(),
              200000 / (365.0 * 24 * 3600) / 0.5 * 10 * 2, 1e-12);
}

}  // namespace
}  // namespace orrery
