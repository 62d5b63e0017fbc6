// Every number of a cost follows from the others and the factors beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "catalog/resolve.h"
#include "run/requests/scenario_report.h"
#include "run/scenario_cost.h"
#include "run/search/objective.h"
#include "tests/status_matchers.h"
#include "tests/storm/money_laws.h"

namespace orrery {
namespace {

using testing::HasSubstr;
using Sets = std::vector<std::string>;

pb::Report Report(const std::string& name, const Sets& sets = {}) {
  const auto proto = ResolveScenario(Catalog(), name, sets);
  EXPECT_THAT(proto, IsOk());
  const auto scenario = MakeScenario(*proto);
  EXPECT_THAT(scenario, IsOk());
  auto report = ReportScenario(*scenario, {});
  EXPECT_THAT(report, IsOk());
  return *std::move(report);
}

const pb::Report::CostResult::Factor* FindFactor(const pb::Report& report,
                                                 const std::string& id) {
  for (const auto& factor : report.cost().factors()) {
    if (factor.id() == id) return &factor;
  }
  return nullptr;
}

TEST(CostReport, FollowsFromItsFactors) {
  const std::pair<const char*, Sets> cases[] = {
      {"quickstart", {}},
      {"quickstart", {"training.run_tokens=15e12"}},
      {"quickstart", {"cost.rent=$2/h", "training.run_tokens=15e12"}},
      {"quickstart", {"cost.price[finance/interest]=0 /year"}},
      {"llama3_405b_16k", {}},
      {"mixtral_8x7b_5d", {"cost.price[run/goodput]=0.5"}},
      {"llama2_70b_inference", {}},
      {"llama2_70b_inference", {"inference.output=1"}},
      {"llama3_70b_pools", {}},
      {"llama3_70b_pools", {"cost.rent=$2/h"}},
      {"llama3_70b_pools",
       {"inference.disaggregated.prefill_system.preset=dgx_b200",
        "inference.disaggregated.prefill_system.nodes=1", "system.nodes=1",
        "cost.price[serving/utilisation]=0.3"}},
      {"qwen3_235b_serving", {}}};
  for (const auto& [name, sets] : cases) {
    SCOPED_TRACE(name);
    const pb::Report report = Report(name, sets);
    EXPECT_TRUE(report.has_cost());
    EXPECT_TRUE(report.has_energy());
    StormSheet sheet;
    HoldMoney(report, sheet);
    EXPECT_GT(sheet.verdicts().size(), 20u);
    for (const StormSheet::Verdict& verdict : sheet.verdicts()) {
      EXPECT_TRUE(verdict.holds) << verdict.law << ": " << verdict.what;
    }
  }
}

// A run that loses half of its time needs twice the hours and twice the energy;
// what an hour and a step take does not change.
TEST(CostReport, HalfTheGoodputIsTwiceThePrice) {
  const Sets run = {"training.run_tokens=15e12"};
  const pb::Report all =
      Report("quickstart", {run[0], "cost.price[run/goodput]=1"});
  const pb::Report half =
      Report("quickstart", {run[0], "cost.price[run/goodput]=0.5"});
  EXPECT_EQ(all.cost().dollars_per_chip_hour(),
            half.cost().dollars_per_chip_hour());
  EXPECT_EQ(all.cost().dollars_per_step(), half.cost().dollars_per_step());
  EXPECT_EQ(all.energy().joules_per_step(), half.energy().joules_per_step());
  EXPECT_DOUBLE_EQ(2 * all.cost().dollars_per_million_tokens(),
                   half.cost().dollars_per_million_tokens());
  EXPECT_DOUBLE_EQ(2 * all.cost().dollars_per_run(),
                   half.cost().dollars_per_run());
  EXPECT_DOUBLE_EQ(2 * all.cost().run_days(), half.cost().run_days());
  EXPECT_DOUBLE_EQ(2 * all.energy().joules_per_token(),
                   half.energy().joules_per_token());
  EXPECT_DOUBLE_EQ(2 * all.energy().facility_kwh_per_run(),
                   half.energy().facility_kwh_per_run());
  EXPECT_DOUBLE_EQ(2 * all.energy().tonnes_co2e_per_run(),
                   half.energy().tonnes_co2e_per_run());
}

TEST(CostReport, TwiceTheUtilisationIsHalfThePrice) {
  const pb::Report one =
      Report("llama3_70b_pools", {"cost.price[serving/utilisation]=0.3"});
  const pb::Report two =
      Report("llama3_70b_pools", {"cost.price[serving/utilisation]=0.6"});
  EXPECT_EQ(one.cost().dollars_per_chip_hour(),
            two.cost().dollars_per_chip_hour());
  EXPECT_DOUBLE_EQ(one.cost().million_input_tokens().nominal(),
                   2 * two.cost().million_input_tokens().nominal());
  EXPECT_DOUBLE_EQ(one.cost().million_output_tokens().nominal(),
                   2 * two.cost().million_output_tokens().nominal());
  EXPECT_DOUBLE_EQ(one.energy().joules_per_token(),
                   2 * two.energy().joules_per_token());
  EXPECT_DOUBLE_EQ(one.energy().million_input_joules().nominal(),
                   2 * two.energy().million_input_joules().nominal());
}

// What `tune` ranks plans of a training run by is the price that its report
// states.
TEST(CostReport, IsWhatPlansAreRankedBy) {
  const pb::Report report = Report("quickstart");
  EXPECT_NEAR(ObjectiveOf(report, Objective::kCost) /
                  report.cost().dollars_per_million_tokens(),
              1, 1e-12);
  const pb::Report one =
      Report("llama3_70b_pools", {"cost.price[serving/utilisation]=0.3"});
  const pb::Report two =
      Report("llama3_70b_pools", {"cost.price[serving/utilisation]=0.6"});
  EXPECT_NEAR(
      ObjectiveOf(one, Objective::kCost) / ObjectiveOf(two, Objective::kCost),
      2, 1e-12);
}

TEST(CostReport, SaysWhereItsFactorsComeFrom) {
  const pb::Report report =
      Report("quickstart",
             {"cost.price[run/goodput]=0.95", "cost.price[facility/pue]=1.2"});
  const auto* goodput = FindFactor(report, "run/goodput");
  ASSERT_NE(goodput, nullptr);
  EXPECT_EQ(goodput->value().nominal(), 0.95);
  EXPECT_EQ(goodput->from(), "scenario");
  EXPECT_EQ(goodput->setting(), "cost.price[run/goodput]=0.95");
  const auto* energy = FindFactor(report, "energy/price");
  ASSERT_NE(energy, nullptr);
  EXPECT_EQ(energy->from(), "market_2025");
  EXPECT_EQ(energy->setting(), "cost.price[energy/price]=0.08 USD/kWh");
  EXPECT_EQ(FindFactor(report, "serving/utilisation"), nullptr);
  // The setting that is printed gives the factor that it stands beside.
  const pb::Report same = Report("quickstart", {goodput->setting()});
  EXPECT_EQ(same.cost().productive_share(), 0.95);
}

// `show` leaves no factor unsaid, and what it prints costs the same.
TEST(CostReport, ShowsItsFactorsInTheScenario) {
  for (const char* name : {"quickstart", "llama3_70b_pools"}) {
    ASSERT_OK_AND_ASSIGN(const pb::Scenario proto,
                         ResolveScenario(Catalog(), name, {}));
    ASSERT_OK_AND_ASSIGN(const pb::Scenario shown, WithRates(proto));
    const pb::Report report = Report(name);
    for (const auto& factor : report.cost().factors()) {
      int found = 0;
      for (const pb::Price& price : shown.cost().price()) {
        found += price.id() == factor.id() ? 1 : 0;
      }
      EXPECT_EQ(found, 1) << factor.id();
    }
    ASSERT_OK_AND_ASSIGN(const ResolvedScenario scenario, MakeScenario(shown));
    ASSERT_OK_AND_ASSIGN(pb::Report again, ReportScenario(scenario, {}));
    EXPECT_EQ(again.cost().DebugString(), report.cost().DebugString());
  }
}

// A price that the scenario replaces leaves the power of the thing as it was.
TEST(CostReport, AnotherPriceDrawsTheSamePower) {
  const pb::Report listed = Report("quickstart");
  const pb::Report cheaper =
      Report("quickstart", {"cost.price[switch/ndr]=1 USD"});
  EXPECT_LT(cheaper.cost().capital().nominal(),
            listed.cost().capital().nominal());
  EXPECT_EQ(cheaper.energy().network_joules(),
            listed.energy().network_joules());
}

TEST(CostReport, WarnsOfAPriceThatPricesNothing) {
  const pb::Report report =
      Report("quickstart", {"cost.price[chip/h100]=3000 USD"});
  EXPECT_THAT(report.warnings(),
              testing::Contains(HasSubstr("cost.price 'chip/h100'")));
  EXPECT_THAT(Report("quickstart").warnings(),
              testing::Not(testing::Contains(HasSubstr("cost.price"))));
}

}  // namespace
}  // namespace orrery
