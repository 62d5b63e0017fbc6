// Statistics of errors, groups and bars, and the message made of them.
#include "accuracy/table/accuracy_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "accuracy/table/accuracy_report.h"

namespace orrery {
namespace {

// Sums of a few doubles; only their last digits differ.
constexpr double kRounding = 1e-12;

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 30}), 3);
  EXPECT_EQ(Median({7}), 7);
}

TEST(Percentile, TakesTheNearestRank) {
  EXPECT_EQ(Percentile({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.9), 9);
  EXPECT_EQ(Percentile({5, 3, 4, 1, 2}, 0.9), 5);
  EXPECT_EQ(Percentile({7}, 0.9), 7);
}

// |errors| 10, 4, 2 and 20 %: mean 36 / 4 = 9, median (4 + 10) / 2 = 7; with
// signs -10 + 4 + 2 - 20 = -24, over 4: -6. Not fitted: 10 and 2, median 6.
TEST(ErrorStatistics, AreOfAbsoluteErrorsButForTheBias) {
  const ErrorStatistics e = Summarise(
      std::vector<RowError>{{-0.10}, {0.04, true}, {0.02}, {-0.20, true}});
  EXPECT_EQ(e.rows, 4);
  EXPECT_EQ(e.fitted, 2);
  EXPECT_NEAR(e.mean, 0.09, kRounding);
  EXPECT_NEAR(e.median, 0.07, kRounding);
  EXPECT_NEAR(e.ninetieth, 0.20, kRounding);
  EXPECT_NEAR(e.worst, 0.20, kRounding);
  EXPECT_NEAR(e.bias, -0.06, kRounding);
  EXPECT_NEAR(*e.held_out_median, 0.06, kRounding);
}

TEST(ErrorStatistics, WithEveryRowFittedHaveNoHeldOutMedian) {
  EXPECT_FALSE(Summarise(std::vector<RowError>{{0.1, true}})
                   .held_out_median.has_value());
}

const GroupKey kAll = {.level = 0, .subject = "all", .part = ""};
const GroupKey kOne = {.level = 1, .subject = "a", .part = "x"};

AccuracyRow Row(const std::string& id, double predicted,
                std::vector<GroupKey> groups) {
  return {.id = id,
          .source = "lab",
          .measured = 100,
          .predicted = predicted,
          .groups = std::move(groups),
          .facts = MeasuredKernel{.chip = "c", .kernel = "k"}};
}

// Errors -10, +4 % in "all", +4 % alone in "a".
AccuracyTable Make(const std::map<GroupKey, AccuracyBars>& bars) {
  return AccuracyTable(
      {.suite = Suite::kKernels,
       .origin = "mine.csv",
       .rows = {Row("r1", 90, {kAll}), Row("r2", 104, {kOne, kAll})},
       .refused = {{{9, "r9", "late"}, {kAll}}, {{3, "r3", "early"}}},
       .bars = bars});
}

TEST(AccuracyTable, GroupsRowsAndCountsWhatWasRefused) {
  const AccuracyTable table = Make({});
  ASSERT_EQ(table.groups().size(), 2u);
  EXPECT_EQ(table.groups()[0].key, kAll);
  EXPECT_EQ(table.groups()[0].errors.rows, 2);
  EXPECT_NEAR(table.groups()[0].errors.median, 0.07, kRounding);
  EXPECT_EQ(table.groups()[0].refused, 1);
  EXPECT_EQ(table.groups()[1].key, kOne);
  EXPECT_NEAR(table.groups()[1].errors.bias, 0.04, kRounding);
  EXPECT_EQ(table.groups()[1].refused, 0);
  // By line, whenever they were refused.
  ASSERT_EQ(table.refused().size(), 2u);
  EXPECT_EQ(table.refused()[0].ToString(), "line 3 (r3): early");
  EXPECT_EQ(table.refused()[1].ToString(), "line 9 (r9): late");
}

TEST(AccuracyTable, EveryBarOfEveryGroupMustBeMet) {
  EXPECT_TRUE(Make({}).met());
  EXPECT_TRUE(Make({{kAll, {.median = 0.08}}}).met());
  EXPECT_FALSE(Make({{kAll, {.median = 0.06}}}).met());
  EXPECT_FALSE(Make({{kAll, {.mean = 0.06}}}).met());
  EXPECT_FALSE(Make({{kAll, {.median = 0.08, .worst = 0.09}}}).met());
  const AccuracyTable other = Make({{kOne, {.median = 0.03}}});
  EXPECT_FALSE(other.groups()[1].met());
  EXPECT_FALSE(other.met());
}

TEST(AccuracyTable, WithNothingPredictedIsNotMet) {
  const AccuracyTable table({.suite = Suite::kTraining,
                             .origin = "mine.csv",
                             .rows = {},
                             .refused = {{{2, "a", "why"}}}});
  EXPECT_FALSE(table.met());
  EXPECT_TRUE(table.groups().empty());
}

TEST(AccuracyTable, AsAMessageSaysTheSame) {
  const AccuracyTable table = Make({{kAll, {.median = 0.06}}});
  const pb::AccuracySuite proto = ToProto(table);
  EXPECT_EQ(proto.suite(), "kernels");
  EXPECT_EQ(proto.table(), "mine.csv");
  EXPECT_FALSE(proto.met());
  EXPECT_EQ(proto.rows_predicted(), 2);
  EXPECT_EQ(proto.rows_refused(), 2);
  ASSERT_EQ(proto.groups_size(), 2);
  EXPECT_EQ(proto.groups(0).subject(), "all");
  EXPECT_FALSE(proto.groups(0).has_part());
  EXPECT_EQ(proto.groups(0).median(), table.groups()[0].errors.median);
  EXPECT_EQ(proto.groups(0).median_bar(), 0.06);
  EXPECT_FALSE(proto.groups(0).met());
  EXPECT_EQ(proto.groups(0).refused(), 1);
  EXPECT_FALSE(proto.groups(1).has_median_bar());
  ASSERT_EQ(proto.rows_size(), 2);
  EXPECT_EQ(proto.rows(0).measured_s(), 100);
  EXPECT_EQ(proto.rows(0).kernel().chip(), "c");
  EXPECT_EQ(proto.refused(0).reason(), "early");
}

}  // namespace
}  // namespace orrery
