#include "cost/silicon/technology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units_text.h"
#include "cost/kernel/power_limit.h"
#include "run/silicon_catalog.h"
#include "tests/status_matchers.h"
#include "topology/machine/chip.h"

namespace orrery {
namespace {

using testing::HasSubstr;

SiliconLibrary TechnologyLibrary() {
  auto library = LoadSilicon(Catalog(), {});
  CHECK(library.ok()) << library.status().ToString();
  return *std::move(library);
}

struct Known {
  pb::Chip chip;
  pb::Package package;
  TechnologyBudget budget;
};

Known Load(const std::string& name) {
  const Catalog catalog;
  auto chip = catalog.Chip(name);
  auto package = catalog.Package(name);
  CHECK(chip.ok() && package.ok());
  auto budget = BudgetOf(*chip, *package);
  CHECK(budget.ok()) << budget.status().ToString();
  return {*std::move(chip), *std::move(package), *std::move(budget)};
}

double Bf16(const pb::Chip& chip) {
  for (const auto& peak : chip.peak()) {
    if (peak.dtype() == pb::BF16) {
      return ParseFlopsPerSecond(peak.rate())->value();
    }
  }
  CHECK(false) << "no BF16";
  return 0;
}

double Bandwidth(const pb::Chip& chip) {
  return ParseBytesPerSecond(chip.memory_bandwidth())->value();
}

// What the power limit leaves a product that keeps every matrix unit busy.
double HeldBf16(const pb::Chip& proto) {
  const absl::StatusOr<Chip> chip = Chip::FromProto(proto);
  CHECK(chip.ok()) << chip.status().ToString();
  return Bf16(proto) * PowerLimit::Of(*chip).Clock(DType::kBf16, 1, 0);
}

// Of what a budget says, within this of the chip it is the budget of.
constexpr double kBar = 0.15;

TEST(Technology, GivesBackAChipFromItsOwnBudget) {
  const SiliconLibrary library = TechnologyLibrary();
  for (const char* name :
       {"a100_sxm_80", "h100_sxm", "b200_sxm", "gb200", "mi300x", "tpu_v4"}) {
    const Known known = Load(name);
    ASSERT_OK_AND_ASSIGN(
        const pb::Chip derived,
        DeriveChip(known.chip, known.package, known.budget, library));
    EXPECT_EQ(derived.compute_units(), known.chip.compute_units()) << name;
    EXPECT_NEAR(Bf16(derived) / Bf16(known.chip), 1, kBar) << name;
    EXPECT_NEAR(Bandwidth(derived) / Bandwidth(known.chip), 1, kBar) << name;
    EXPECT_NEAR(HeldBf16(derived) / HeldBf16(known.chip), 1, 1e-3) << name;
    EXPECT_THAT(Chip::FromProto(derived), IsOk()) << name;
  }
}

// Not its own budget, but that of a sister of the same architecture: an H200 is
// an H100 with six stacks of HBM3E (4.8 TB/s, 141 GB, the same clocks).
TEST(Technology, MakesAnH200OfAnH100WithOtherMemory) {
  const Known h100 = Load("h100_sxm");
  ASSERT_OK_AND_ASSIGN(const pb::Chip h200, Catalog().Chip("h200_sxm"));
  TechnologyBudget budget = h100.budget;
  budget.stacks = 6;
  budget.memory = "HBM3E";
  const SiliconLibrary library = TechnologyLibrary();
  ASSERT_OK_AND_ASSIGN(const pb::Chip derived,
                       DeriveChip(h100.chip, h100.package, budget, library));
  EXPECT_NEAR(Bf16(derived) / Bf16(h200), 1, kBar);
  EXPECT_NEAR(static_cast<double>(ParseBytes(derived.memory())->value()) /
                  static_cast<double>(ParseBytes(h200.memory())->value()),
              1, kBar);
  // The list's nominal stack is faster than what an H200 runs it at.
  constexpr double kStackSpeed = 0.30;
  EXPECT_NEAR(Bandwidth(derived) / Bandwidth(h200), 1, kStackSpeed);
}

// A B200 from an H100, whose constants know nothing of it: two dies of 800 mm2
// in the same process, eight stacks of HBM3E, 1 kW. Units double and a tenth
// more, as interfaces take less of two dies: 989 x 269 / 132 = 2016 TFLOP/s
// (2250 published); 8 x 1 TB/s (7.67) and 8 x 24 GB (192). The limit leaves
// products ((1000 - 110 x 1600 / 814) / (990 x 269 / 132))^(1 / 2.5) = 0.69 of
// the clock.
TEST(Technology, MakesAB200OfAnH100) {
  const Known h100 = Load("h100_sxm");
  ASSERT_OK_AND_ASSIGN(const pb::Chip b200, Catalog().Chip("b200_sxm"));
  TechnologyBudget budget = Load("b200_sxm").budget;
  budget.links = 18;
  ASSERT_OK_AND_ASSIGN(
      const pb::Chip derived,
      DeriveChip(h100.chip, h100.package, budget, TechnologyLibrary()));
  EXPECT_NEAR(Bf16(derived) / Bf16(b200), 1, kBar);
  EXPECT_NEAR(Bandwidth(derived) / Bandwidth(b200), 1, kBar);
  EXPECT_NEAR(static_cast<double>(ParseBytes(derived.memory())->value()) /
                  static_cast<double>(ParseBytes(b200.memory())->value()),
              1, kBar);
  EXPECT_NEAR(HeldBf16(derived) / HeldBf16(b200), 1, kBar);
}

TEST(Technology, GrowsWithItsBudget) {
  const Known base = Load("b200_sxm");
  const SiliconLibrary library = TechnologyLibrary();
  const auto derive = [&](auto change) {
    TechnologyBudget budget = base.budget;
    change(budget);
    const auto chip = DeriveChip(base.chip, base.package, budget, library);
    CHECK(chip.ok()) << chip.status().ToString();
    return *chip;
  };
  const pb::Chip n3 = derive([](TechnologyBudget& b) { b.process = "n3"; });
  const pb::Chip n7 = derive([](TechnologyBudget& b) { b.process = "n7"; });
  EXPECT_GT(n3.compute_units(), base.chip.compute_units());
  EXPECT_LT(n7.compute_units(), base.chip.compute_units());
  EXPECT_GT(Bf16(n3), Bf16(n7));
  const pb::Chip cool =
      derive([](TechnologyBudget& b) { b.power = Watts(700); });
  const pb::Chip hot =
      derive([](TechnologyBudget& b) { b.power = Watts(1200); });
  EXPECT_LT(HeldBf16(cool), HeldBf16(base.chip));
  EXPECT_LT(HeldBf16(base.chip), HeldBf16(hot));
  // The same work in a better process leaves more of the clock.
  EXPECT_GT(HeldBf16(n3), HeldBf16(base.chip));
}

// 814 mm2 in four: of 144 units 36 each, of 12 spare ones 3; in eight, 18 and
// 1, because with 2 the chip would have 8 x 16 = 128 of its 132.
TEST(Technology, ChipletsShareTheUnitsOfTheDie) {
  const Known base = Load("h100_sxm");
  const SiliconLibrary library = TechnologyLibrary();
  const auto die_of = [&](int dies) {
    TechnologyBudget budget = base.budget;
    budget.dies = dies;
    budget.area = base.budget.area / dies;
    budget.link_share = dies > 1 ? 0.1 : 0;
    const auto chip = DeriveChip(base.chip, base.package, budget, library);
    CHECK(chip.ok()) << chip.status().ToString();
    // The same area for units, the same units.
    EXPECT_EQ(chip->compute_units(), base.chip.compute_units());
    const auto package = DerivePackage(base.package, budget, library);
    CHECK(package.ok());
    EXPECT_EQ(package->assembly().part(0).count(), dies);
    return package->assembly().part(0).die();
  };
  EXPECT_EQ(die_of(1).units(), 144);
  EXPECT_EQ(die_of(1).spare_units(), 12);
  EXPECT_EQ(die_of(4).units(), 36);
  EXPECT_EQ(die_of(4).spare_units(), 3);
  EXPECT_EQ(die_of(8).units(), 18);
  EXPECT_EQ(die_of(8).spare_units(), 1);
  EXPECT_DOUBLE_EQ(die_of(4).link_share(), 0.1);
}

TEST(Technology, RefusesWhatDoesNotFit) {
  const Known base = Load("h100_sxm");
  const SiliconLibrary library = TechnologyLibrary();
  TechnologyBudget budget = base.budget;
  budget.area = SquareMillimetres(1000);
  budget.stacks = 30;
  budget.links = 5000;
  EXPECT_THAT(DeriveChip(base.chip, base.package, budget, library),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::AllOf(HasSubstr("does not fit the reticle"),
                                      HasSubstr("stacks: 30 do not fit"),
                                      HasSubstr("links: 5000 do not fit"))));
  budget = base.budget;
  budget.power = Watts(50);
  EXPECT_THAT(DeriveChip(base.chip, base.package, budget, library),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("power: memory and links alone take")));
  budget = base.budget;
  budget.process = "n1";
  EXPECT_THAT(DeriveChip(base.chip, base.package, budget, library),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no process 'n1'")));
}

}  // namespace
}  // namespace orrery
