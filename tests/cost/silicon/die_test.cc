#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "cost/silicon/die_cost.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::HasSubstr;

DieSize Mm(double width, double height) {
  return {Millimetres(width), Millimetres(height)};
}

// 300 mm, 3 mm of rim, streets of 0.1 mm: exact, classic and exponential.
TEST(GrossDies, AreWhatPlacementFindsAndClosedFormsComeNear) {
  const struct {
    DieSize die;
    double exact, classic, exponential;
  } cases[] = {{Mm(26, 33), 64, 56.36, 64.83},
               {Mm(26, 31.3), 67, 60.02, 68.70},
               {Mm(14.5, 25.8), 153, 146.01, 159.09},
               {Mm(20, 20), 148, 135.54, 148.13}};
  constexpr double kPrinted = 0.005;  // two digits behind the point
  for (const auto& c : cases) {
    EXPECT_EQ(GrossDies(GrossDieRule::kExactGrid, {}, c.die), c.exact);
    EXPECT_NEAR(GrossDies(GrossDieRule::kClassic, {}, c.die), c.classic,
                kPrinted);
    EXPECT_NEAR(GrossDies(GrossDieRule::kExponential, {}, c.die), c.exponential,
                kPrinted);
  }
}

// Google: (14.6 x 25.9) mm2 with its street, 150 on a wafer.
TEST(GrossDies, AreRoundedByGooglesRule) {
  EXPECT_EQ(GrossDies(GrossDieRule::kGoogle,
                      {Millimetres(300), Millimetres(0), Millimetres(0.1)},
                      Mm(14.5, 25.8)),
            150);
}

TEST(GrossDies, AreNoneOfADieLargerThanTheWafer) {
  for (const GrossDieRule rule :
       {GrossDieRule::kExactGrid, GrossDieRule::kClassic,
        GrossDieRule::kCatchGrid, GrossDieRule::kCatchRows}) {
    EXPECT_EQ(GrossDies(rule, {}, Mm(400, 400)), 0);
  }
}

// 800 mm2 at 0.1 /cm2: 0.8 fatal defects.
TEST(Yield, OfEveryModelAtPointEight) {
  const double x =
      FatalDefects(SquareMillimetres(800), DefectsPerSquareCentimetre(0.1));
  EXPECT_DOUBLE_EQ(x, 0.8);
  constexpr double kPrinted = 5e-5;
  EXPECT_NEAR(YieldOf({YieldRule::kPoisson}, x), 0.4493, kPrinted);
  EXPECT_NEAR(YieldOf({YieldRule::kMurphy}, x), 0.4738, kPrinted);
  EXPECT_NEAR(YieldOf({YieldRule::kNegativeBinomial, 10}, x), 0.4632, kPrinted);
  EXPECT_NEAR(YieldOf({YieldRule::kNegativeBinomial, 3}, x), 0.4921, kPrinted);
  EXPECT_NEAR(YieldOf({YieldRule::kNegativeBinomial, 2}, x), 0.5102, kPrinted);
  EXPECT_NEAR(YieldOf({YieldRule::kSeeds}, x), 0.5556, kPrinted);
  EXPECT_NEAR(YieldOf({YieldRule::kSeedsRoot}, x), 0.4088, kPrinted);
}

// Units per mm2 and per cm2 are a factor of a hundred apart.
TEST(Yield, KnowsItsUnits) {
  EXPECT_EQ(PerSquareMillimetre(0.005), DefectsPerSquareCentimetre(0.5));
}

// 814 mm2 at 0.1 /cm2, 0.6 of it in 144 units of which 12 are spare: the rest,
// 326 mm2, decides: 0.72 against 0.457 without.
TEST(Yield, IsThatOfTheRestWhenEnoughUnitsAreSpare) {
  const double x =
      FatalDefects(SquareMillimetres(814), DefectsPerSquareCentimetre(0.1));
  const YieldModel model{YieldRule::kNegativeBinomial, 10};
  EXPECT_NEAR(HarvestedYield(model, {144, 12, 0.6}, x), 0.724, 0.002);
  EXPECT_NEAR(YieldOf(model, x), 0.457, 0.001);
  // No spare unit is no harvest; all spare leaves the rest.
  EXPECT_NEAR(HarvestedYield({YieldRule::kPoisson}, {144, 0, 0.6}, x),
              YieldOf({YieldRule::kPoisson}, x), 1e-12);
}

// A unit without a defect is good, so the number of bad units among n is
// binomial. A die sells if no more units are bad than are spare and the rest of
// it is good: the yield is the sum of the binomial's first terms times that of
// the rest.
TEST(Yield, OfSpareUnitsIsABinomialSum) {
  const YieldModel model{YieldRule::kPoisson};
  constexpr double kShare = 0.8;
  for (const int units : {1, 4, 10}) {
    for (const double defects : {0.3, 3.0}) {
      const double good = std::exp(-defects * kShare / units);
      const double rest = YieldOf(model, defects * (1 - kShare));
      double sum = 0;
      double ways = 1;  // to choose the bad units
      for (int bad = 0; bad <= units; ++bad) {
        sum += ways * std::pow(1 - good, bad) * std::pow(good, units - bad);
        ways *= static_cast<double>(units - bad) / (bad + 1);
        EXPECT_NEAR(HarvestedYield(model, {units, bad, kShare}, defects),
                    rest * sum, 1e-9)
            << bad << " of " << units;
      }
      EXPECT_NEAR(sum, 1, 1e-9);
    }
  }
}

// 858 mm2 a field: 900 mm2 need two, with one seam; five fields 2 x 2 and one
// beside them.
TEST(Reticle, IsStitchedAboveOneField) {
  EXPECT_EQ(StitchingOf({}, SquareMillimetres(858)).fields, 1);
  EXPECT_EQ(StitchingOf({}, SquareMillimetres(858)).seams, 0);
  EXPECT_EQ(StitchingOf({}, SquareMillimetres(900)).fields, 2);
  EXPECT_EQ(StitchingOf({}, SquareMillimetres(900)).seams, 1);
  EXPECT_EQ(StitchingOf({}, SquareMillimetres(4000)).fields, 5);
  EXPECT_EQ(StitchingOf({}, SquareMillimetres(4000)).seams, 5);
}

TEST(DieCost, RefusesADieThatNeedsStitchingUnlessItsYieldIsSaid) {
  const DieSize large = Mm(30, 35);
  EXPECT_THAT(CostOfDie({}, large),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("does not fit the reticle of 858 mm2")));
  EXPECT_THAT(CostOfDie({.stitch_yield = 0.9}, large), IsOk());
}

// Half of the dies are bad, a test finds nine in ten of them: 0.55 pass, 0.5 /
// 0.55 of those are good, and 100 dies at 1000 dollars and 1 dollar of test
// cost (10 + 1) / 0.55.
TEST(DieCost, PaysForWhatTheTestRejects) {
  const Process process{.wafer_price = Dollars(1000), .line_yield = 0.5};
  const DieSize size = Mm(20, 20);
  const double gross = GrossDies(GrossDieRule::kExactGrid, {}, size);
  ASSERT_OK_AND_ASSIGN(
      const DieCost die,
      CostOfDie(process, size, {}, {.coverage = 0.9, .cost = Dollars(1)}));
  EXPECT_NEAR(die.quality, 0.5 / 0.55, 1e-12);
  EXPECT_NEAR(die.cost.recurring().value(), (1000 / gross + 1) / 0.55, 1e-9);
}

Process RandomProcess(Rng& rng) {
  return {.wafer_price = Dollars(2000 + 30000 * rng.Uniform()),
          .defects = DefectsPerSquareCentimetre(0.3 * rng.Uniform()),
          .yield = {YieldRule::kNegativeBinomial, 1 + 10 * rng.Uniform()}};
}

TEST(DieCost, NeverFallsWithMoreDefectsOrMoreArea) {
  Rng rng(1, "monotone dies");
  for (int i = 0; i < 200; ++i) {
    const Process process = RandomProcess(rng);
    // The exact count of dies is a step function of either side.
    const double width = 5 + 20 * rng.Uniform();
    const double height = 5 + 25 * rng.Uniform();
    const DieTest test{.coverage = 0.8 + 0.2 * rng.Uniform()};
    ASSERT_OK_AND_ASSIGN(const DieCost die,
                         CostOfDie(process, Mm(width, height), {}, test));
    Process worse = process;
    worse.defects = process.defects * (1 + rng.Uniform());
    ASSERT_OK_AND_ASSIGN(const DieCost dirty,
                         CostOfDie(worse, Mm(width, height), {}, test));
    EXPECT_GE(dirty.cost.total(), die.cost.total());
    ASSERT_OK_AND_ASSIGN(
        const DieCost larger,
        CostOfDie(process, Mm(width * 1.04, height * 1.04), {}, test));
    EXPECT_GE(larger.cost.total(), die.cost.total() * (1 - 1e-12));
    EXPECT_LE(dirty.quality, die.quality + 1e-12);
  }
}

}  // namespace
}  // namespace orrery
