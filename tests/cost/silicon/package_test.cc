#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "catalog/textproto.h"
#include "cost/silicon/package_cost.h"
#include "run/package_report.h"
#include "run/silicon_catalog.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::AllOf;
using testing::HasSubstr;

SiliconLibrary Library() {
  auto library = LoadSilicon(Catalog(), {});
  CHECK(library.ok()) << library.status().ToString();
  return *std::move(library);
}

// Outsiders' estimates of the same package differ by this much.
constexpr double kBill = 0.30;

// H100 3320 USD, B200 6400, MI300X 5300 (Silicon Analysts, Epoch AI).
TEST(Package, BillsOfKnownAcceleratorsAreNearThePublishedOnes) {
  const SiliconLibrary library = Library();
  const std::pair<const char*, double> published[] = {
      {"h100_sxm", 3320}, {"b200_sxm", 6400}, {"mi300x", 5300}};
  for (const auto& [name, dollars] : published) {
    ASSERT_OK_AND_ASSIGN(const pb::Package package, Catalog().Package(name));
    ASSERT_OK_AND_ASSIGN(const PackageModel model,
                         PackageModel::Create(package, library));
    const double ours =
        model.Evaluate(PriceDraw::Nominal()).cost.recurring().value();
    EXPECT_NEAR(ours / dollars, 1, kBill) << name << " " << ours;
  }
}

TEST(Package, EveryPresetLoadsAndItsIntervalsHoldTheNominalValue) {
  const SiliconLibrary library = Library();
  for (const std::string& name : Catalog().Names("packages")) {
    ASSERT_OK_AND_ASSIGN(const pb::Package package, Catalog().Package(name));
    ASSERT_OK_AND_ASSIGN(const pb::PackageResult result,
                         ReportPackage(package, library));
    for (const auto& spread :
         {result.recurring(), result.total(), result.nre(), result.memory()}) {
      EXPECT_LE(spread.low(), spread.nominal()) << name;
      EXPECT_LE(spread.nominal(), spread.high()) << name;
    }
    EXPECT_LT(result.recurring().low(), result.recurring().high()) << name;
    EXPECT_GT(result.carbon_kg(), 0) << name;
  }
}

// Every range of the catalogue is in order and dated.
TEST(Prices, AreInOrderAndDated) {
  const SiliconLibrary library = Library();
  for (const auto& [id, entry] : library.prices.entries()) {
    EXPECT_LE(entry.range.low, entry.range.nominal) << id;
    EXPECT_LE(entry.range.nominal, entry.range.high) << id;
    EXPECT_FALSE(entry.range.date.empty()) << id;
  }
  for (const auto& [name, process] : library.processes) {
    EXPECT_THAT(ParseRange(process.wafer_price(), "USD", name), IsOk());
    EXPECT_THAT(ParseRange(process.defects(), "/cm2", name), IsOk());
    EXPECT_THAT(ParseRange(process.mask_set(), "USD", name), IsOk());
    EXPECT_THAT(ParseRange(process.design(), "USD", name), IsOk());
    EXPECT_GT(process.source_size(), 0) << name;
  }
}

pb::Package Simple(double area, double units, double defects_factor = 1) {
  pb::Package package;
  const absl::Status parsed =
      ParseTextproto(fmt::format(R"(name: "p" units: {}
                     assembly {{ packaging: "organic"
                       part {{ count: 2 die {{ name: "d" process: "n5"
                                               area: "{} mm2" }} }} }})",
                                 units, area * defects_factor),
                     "test", &package);
  CHECK(parsed.ok()) << parsed.ToString();
  return package;
}

Dollars Total(const pb::Package& package, const SiliconLibrary& library) {
  const auto model = PackageModel::Create(package, library);
  CHECK(model.ok()) << model.status().ToString();
  return model->Evaluate(PriceDraw::Nominal()).cost.total();
}

TEST(Package, NeverGetsDearerPerUnitWithVolumeNorCheaperWithArea) {
  const SiliconLibrary library = Library();
  Dollars before{1e18};
  for (double units = 1e3; units < 1e8; units *= 3) {
    const Dollars total = Total(Simple(200, units), library);
    EXPECT_LE(total, before);
    before = total;
  }
  before = Dollars(0);
  for (double area = 20; area < 850; area *= 1.15) {
    const Dollars total = Total(Simple(area, 1e6), library);
    EXPECT_GE(total, before);
    before = total;
  }
}

// Designs and masks are paid once: half as much per unit for twice as many.
TEST(Package, DesignIsSpreadOverTheUnits) {
  const SiliconLibrary library = Library();
  const auto cost = [&](double units) {
    const auto model = PackageModel::Create(Simple(400, units), library);
    EXPECT_THAT(model, IsOk());
    return model->Evaluate(PriceDraw::Nominal()).cost;
  };
  const CostBreakdown some = cost(1e5);
  const CostBreakdown more = cost(4e5);
  EXPECT_GT(some.nre, Dollars(0));
  EXPECT_NEAR(some.nre / more.nre, 4, 1e-9);
  EXPECT_EQ(some.recurring(), more.recurring());
}

// Carbon is emitted for every die that is made: carbon - packaging goes as one
// over the share of dies that pass their test and over the assembly's yield.
TEST(Package, CarbonIsThatOfTheDiesThatAreMade) {
  struct Made {
    double carbon;
    double passing;
  };
  const auto of = [](double coverage) {
    pb::Package package = Simple(600, 1e6);
    package.mutable_assembly()
        ->mutable_part(0)
        ->mutable_die()
        ->set_test_coverage(coverage);
    const auto model = PackageModel::Create(package, Library());
    EXPECT_THAT(model, IsOk());
    const PackageCost cost = model->Evaluate(PriceDraw::Nominal());
    const double bad = 1 - cost.dies.at(0).yield;
    EXPECT_GT(bad, 0.1);
    return Made{cost.carbon.value(),
                (1 - bad * coverage) * cost.assembly_yield};
  };
  const Made none = of(0.01);
  const Made half = of(0.5);
  const Made all = of(1);
  // Two of the three tell the carbon of a die and of the packaging.
  const double die =
      (all.carbon - none.carbon) / (1 / all.passing - 1 / none.passing);
  const double packaging = all.carbon - die / all.passing;
  EXPECT_GT(die, 0);
  EXPECT_GE(packaging, 0);
  EXPECT_NEAR(half.carbon, packaging + die / half.passing, 1e-9 * half.carbon);
  // Two dies of 6 cm2: a cm2 of logic takes one to three kg.
  EXPECT_GT(die / 12, 500);
  EXPECT_LT(die / 12, 5000);
}

// Packages that fail when they are put together were made of good dies: what is
// left of the carbon of dies goes as one over the yield of the assembly.
TEST(Package, CarbonIsThatOfThePackagesThatAreMade) {
  const auto of = [](double yield) {
    SiliconLibrary library = Library();
    library.packagings.at("organic").set_mount_yield(yield);
    const auto model = PackageModel::Create(Simple(600, 1e6), library);
    EXPECT_THAT(model, IsOk());
    return model->Evaluate(PriceDraw::Nominal());
  };
  const double packaging = Library().packagings.at("organic").carbon_g();
  const PackageCost all = of(1);
  const PackageCost half = of(0.5);
  EXPECT_NEAR(half.assembly_yield / all.assembly_yield, 0.5, 1e-9);
  EXPECT_NEAR(
      (half.carbon.value() - packaging) / (all.carbon.value() - packaging), 2,
      1e-9);
}

TEST(Package, SaysEverythingThatIsWrongWithIt) {
  pb::Package package;
  ASSERT_THAT(ParseTextproto(R"(name: "p" units: 0
                        assembly { packaging: "glue"
                          part { die { name: "d" process: "n1" area: "9 mm2" } }
                          part { memory { kind: "HBM9" capacity: "16 GB" } } })",
                             "test", &package),
              IsOk());
  EXPECT_THAT(
      PackageModel::Create(package, Library()),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(HasSubstr("package.units"), HasSubstr("no process 'n1'"),
                HasSubstr("memory/HBM9"), HasSubstr("no packaging 'glue'"))));
}

TEST(Package, RefusesSizesThatNothingHas) {
  const SiliconLibrary library = Library();
  for (const char* die :
       {"width_mm: -5 height_mm: -5", "width_mm: nan height_mm: 1",
        "area: \"1e12 mm2\"", "area: \"0 mm2\"",
        "area: \"10 mm2\" link_share: -2", "area: \"10 mm2\" units: 2000000000",
        "area: \"10 mm2\" units: 3 unit_share: nan",
        "area: \"10 mm2\" units: 3 spare_units: 4"}) {
    pb::Package package;
    ASSERT_THAT(ParseTextproto(fmt::format(R"(name: "p" units: 1
                                   assembly {{ packaging: "organic" bridges: -1
                                     part {{ die {{ process: "n5" {} }} }}
                                   }})",
                                           die),
                               "test", &package),
                IsOk())
        << die;
    EXPECT_THAT(
        PackageModel::Create(package, library),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("part[0].die")))
        << die;
  }
}

TEST(PriceRange, RefusesOtherUnitsAndBoundsOutOfOrder) {
  pb::Range range;
  range.set_nominal("5 USD");
  EXPECT_THAT(ParseRange(range, "USD/h", "x"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must be a number in USD/h, got '5 USD'")));
  range.set_low("6 USD");
  EXPECT_THAT(ParseRange(range, "USD", "x"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("low <= nominal <= high")));
}

// The mean of a triangle is a third of its corners' sum.
TEST(PriceDraw, IsTriangularAndTheSameForTheSameName) {
  const PriceRange range{.low = 1, .nominal = 2, .high = 6};
  double sum = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    const double value = PriceDraw::Sample(i).At("a", range);
    EXPECT_GE(value, range.low);
    EXPECT_LE(value, range.high);
    EXPECT_EQ(value, PriceDraw::Sample(i).At("a", range));
    sum += value;
  }
  // Five standard errors of a spread of about 1.08.
  EXPECT_NEAR(sum / kDraws, 3, 5 * 1.08 / std::sqrt(kDraws));
  EXPECT_EQ(PriceDraw::Nominal().At("a", range), 2);
}

// Nine draws of ten are within an interval: of a triangle from 1 over 2 to 6 a
// twentieth is below 1 + sqrt(0.05 x 5 x 1) = 1.5, and above 6 - sqrt(0.05 x 5
// x 4) = 5.
TEST(PriceDraw, AnIntervalHoldsNineDrawsOfTen) {
  const PriceRange range{.low = 1, .nominal = 2, .high = 6};
  const std::vector<Interval> found = Intervals([&](const PriceDraw& draw) {
    return std::vector<double>{draw.At("a", range), -draw.At("a", range)};
  });
  // Of some hundred draws.
  constexpr double kSampled = 0.15;
  EXPECT_NEAR(found[0].low, 1.5, kSampled);
  EXPECT_EQ(found[0].nominal, 2);
  EXPECT_NEAR(found[0].high, 5, 2 * kSampled);
  EXPECT_NEAR(found[1].low, -5, 2 * kSampled);
  EXPECT_NEAR(found[1].high, -1.5, kSampled);
}

// A die is designed once, however many times a package holds it.
TEST(Package, ADesignIsPaidOnceHoweverManyOfItsDiesThereAre) {
  const SiliconLibrary library = Library();
  const auto nre = [&](int dies) {
    pb::Package package = Simple(200, 1e5);
    package.mutable_assembly()->mutable_part(0)->set_count(dies);
    const auto model = PackageModel::Create(package, library);
    EXPECT_THAT(model, IsOk());
    return model->Evaluate(PriceDraw::Nominal()).cost.nre.value();
  };
  EXPECT_GT(nre(1), 0);
  EXPECT_NEAR(nre(2) / nre(1), 1, 1e-9);
  EXPECT_NEAR(nre(4) / nre(1), 1, 1e-9);
}

// The package has `stacks` equal stacks of `dies` dies on one substrate.
pb::Package Stacked(int stacks, int dies) {
  pb::Package package;
  const absl::Status parsed = ParseTextproto(fmt::format(R"(name: "p" units: 1e5
                     assembly {{ packaging: "organic"
                       part {{ count: {} assembly {{ packaging: "soic"
                         part {{ count: {} die {{ name: "d" process: "n5"
                                                 area: "100 mm2" }} }} }} }} }})",
                                                         stacks, dies),
                                             "test", &package);
  CHECK(parsed.ok()) << parsed.ToString();
  return package;
}

// The lowest die of a stack is bonded to nothing: n dies have n - 1 bonds.
TEST(Package, AStackHasOneBondLessThanItHasDies) {
  const SiliconLibrary library = Library();
  const auto yield = [&](int stacks, int dies) {
    const auto model = PackageModel::Create(Stacked(stacks, dies), library);
    EXPECT_THAT(model, IsOk());
    return model->Evaluate(PriceDraw::Nominal()).assembly_yield;
  };
  const auto bond = [&](const char* packaging) {
    return ParseRange(library.packagings.at(packaging).bond_yield(), "",
                      packaging)
        ->nominal;
  };
  for (const int dies : {1, 2, 5}) {
    EXPECT_NEAR(yield(1, dies),
                bond("organic") * std::pow(bond("soic"), dies - 1), 1e-9)
        << dies;
    EXPECT_NEAR(yield(3, dies), std::pow(yield(1, dies), 3), 1e-9) << dies;
  }
}

// Where assembly loses nothing, the carbon beside that of the substrate is in
// proportion to the number of stacks.
TEST(Package, EveryStackLeavesItsCarbon) {
  SiliconLibrary library = Library();
  pb::Range all;
  all.set_nominal("1");
  for (const char* packaging : {"organic", "soic"}) {
    *library.packagings.at(packaging).mutable_bond_yield() = all;
  }
  const double around = library.packagings.at("organic").carbon_g();
  const auto carbon = [&](int stacks) {
    const auto model = PackageModel::Create(Stacked(stacks, 2), library);
    EXPECT_THAT(model, IsOk());
    return model->Evaluate(PriceDraw::Nominal()).carbon.value() - around;
  };
  EXPECT_NEAR(carbon(2) / carbon(1), 2, 1e-9);
  EXPECT_NEAR(carbon(4) / carbon(1), 4, 1e-9);
}

// The table gives the cost of one known good die, so its rows times their
// counts sum to the raw dies plus what defects add.
TEST(Package, TheTableOfDiesSumsToWhatDiesCost) {
  for (const pb::Package& package : {Simple(400, 1e5), Stacked(3, 2)}) {
    ASSERT_OK_AND_ASSIGN(const pb::PackageResult result,
                         ReportPackage(package, Library()));
    double sum = 0;
    for (const auto& die : result.die()) {
      sum += die.count() * die.known_good_dollars();
    }
    EXPECT_NEAR(
        sum / (result.raw_dies().nominal() + result.die_defects().nominal()), 1,
        1e-9);
  }
}

}  // namespace
}  // namespace orrery
