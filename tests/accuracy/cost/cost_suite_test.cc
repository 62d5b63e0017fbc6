#include "accuracy/cost/cost_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "accuracy/cost/cost_row.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

TEST(Scan, FindsNumbersWhereThePatternHasThem) {
  EXPECT_THAT(Scan("CCD 67mm2@7 + 7mm2 D2D", "CCD %mm2@% + %mm2 D2D"),
              Optional(ElementsAre(67, 7, 7)));
  EXPECT_THAT(Scan("6.7x5mm", "%x%mm"), Optional(ElementsAre(6.7, 5)));
  EXPECT_THAT(Scan("0.1 of module area", "%*"), Optional(ElementsAre(0.1)));
  EXPECT_EQ(Scan("14.5x25.8mm wafer", "%x%mm"), std::nullopt);
}

TEST(RoundedLike, KeepsTheDigitsThatArePrinted) {
  EXPECT_DOUBLE_EQ(RoundedLike(2.9682, "2.97"), 2.97);
  EXPECT_DOUBLE_EQ(RoundedLike(149.6, "150"), 150);
  EXPECT_DOUBLE_EQ(RoundedLike(0.12345, "1.2e-1"), 0.12);
}

TEST(CostSuite, MeetsItsBarsOnTheTableThatCameWithIt) {
  ASSERT_OK_AND_ASSIGN(const AccuracyTable table, RunCostSuite(std::nullopt));
  for (const AccuracyGroup& group : table.groups()) {
    EXPECT_TRUE(group.met()) << group.key.subject << " " << group.key.part
                             << " " << group.errors.worst;
    // The models that are reproduced are reproduced whole.
    if (group.key.subject == "Chiplet Actuary") {
      EXPECT_EQ(group.refused, 0);
    }
  }
  EXPECT_TRUE(table.met());
  EXPECT_GE(table.rows().size(), 660);
}

AccuracyTable Predict(const std::string& rows) {
  const auto table = MeasurementTable::Parse(
      "id,source_model,case,inputs,quantity,expected,unit\n" + rows, "test",
      {"source_model", "case", "inputs", "quantity", "expected"});
  CHECK(table.ok()) << table.status().ToString();
  auto predicted = PredictCosts(*table);
  CHECK(predicted.ok()) << predicted.status().ToString();
  return *std::move(predicted);
}

// Rows nobody has printed: any node, area and number is computed. One chip on
// an interposer is cheaper than the same in two, for a small die.
TEST(CostSuite, ComputesRowsOfItsModelsThatItHasNeverSeen) {
  const AccuracyTable table = Predict(
      "1,Chiplet Actuary,RE_multichip,"
      "node=28;module_area_mm2=61;n=7;pkg=SI;d2d=0.2 of module area,total_RE,"
      "1,USD\n"
      "2,CATCH,system_sweep_800mm2,"
      "chiplet_size;tech=7nm;chiplets=100x8mm2;Si interposer stackup;"
      "UCIe_advanced netlist,total_cost_per_unit,1,USD\n"
      "3,google/chiplets-cost-model,die,"
      "10x10mm;saw street 0.1;D0=0.2;N=3;wafer 5000;probe 30 s,"
      "die_price_incl_probe,1,USD\n");
  EXPECT_EQ(table.rows().size(), 3);
  EXPECT_TRUE(table.refused().empty());
  for (const AccuracyRow& row : table.rows()) EXPECT_GT(row.predicted, 0);
}

TEST(CostSuite, RefusesWithTheReason) {
  const AccuracyTable table = Predict(
      "1,Chiplet Actuary,RE_SoC,node=4;module_area_mm2=1;n=1;pkg=OS,total_RE,"
      "1,USD\n"
      "2,Chiplet Actuary,die,node=5,die_yield,1,1\n"
      "3,Some Model,thing,a=1,cost,1,USD\n"
      "4,Chiplet Actuary,RE_SoC,node=5;module_area_mm2=1;n=1;pkg=ZZ,total_RE,"
      "1,USD\n");
  ASSERT_EQ(table.refused().size(), 4);
  EXPECT_THAT(table.refused()[0].reason, HasSubstr("no node '4'"));
  EXPECT_THAT(table.refused()[1].reason, HasSubstr("no 'area_mm2='"));
  EXPECT_THAT(table.refused()[2].reason, HasSubstr("not modelled"));
  EXPECT_THAT(table.refused()[3].reason, HasSubstr("'pkg' must be"));
  EXPECT_FALSE(table.met());
}

// Whatever stands in a row, it is refused and not fallen over.
TEST(CostSuite, RefusesSizesThatNothingHas) {
  std::string rows;
  int id = 0;
  for (const char* area : {"0", "-5", "1e300", "nan", "1e9", ""}) {
    for (const std::string& row :
         {fmt::format("Chiplet Actuary,RE_SoC,node=5;module_area_mm2={};n=2;"
                      "pkg=SI,total_RE",
                      area),
          fmt::format("Chiplet Actuary,die,area_mm2={};D0_cm2=1;c=1;D_w=300;"
                      "scribe=0.2;edge=5;wafer_usd=1,cost_raw_die",
                      area),
          fmt::format("CATCH,layer,area_mm2={};D0_mm2=1;crit_area_ratio=1;"
                      "alpha=1;wafer_usd_mm2=1;litho=0.5,layer_cost_incl_edge_"
                      "and_reticle_waste",
                      area),
          fmt::format("CATCH,dies_per_wafer,x_mm={};y_mm=1;wafer=300;edge=1;"
                      "dicing=1,nothing",
                      area)}) {
      rows += fmt::format("{},{},1,USD\n", ++id, row);
    }
  }
  EXPECT_EQ(Predict(rows).refused().size(), static_cast<size_t>(id));
}

}  // namespace
}  // namespace orrery
