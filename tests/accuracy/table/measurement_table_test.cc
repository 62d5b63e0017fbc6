#include "accuracy/table/measurement_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/accuracy/table/tables.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using absl::StatusCode::kInvalidArgument;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(MeasurementTable, WithoutWhatTheSuiteNeedsIsNoTableOfIt) {
  EXPECT_THAT(
      MeasurementTable::Parse("a,c\n1,2\n", "mine.csv", {"a", "b", "d|e"}),
      StatusIs(kInvalidArgument,
               AllOf(HasSubstr("mine.csv: line 1"), HasSubstr("'b'"),
                     HasSubstr("'d' or 'e'"), Not(HasSubstr("'a'")))));
  EXPECT_OK(
      MeasurementTable::Parse("a,b,e\n1,2,3\n", "mine.csv", {"a", "b", "d|e"}));
}

TEST(MeasurementTable, WithoutRowsIsAnError) {
  EXPECT_THAT(MeasurementTable::Parse("a,b\n", "mine.csv", {"a"}),
              StatusIs(kInvalidArgument, HasSubstr("mine.csv: the table has a "
                                                   "header, but no rows")));
  EXPECT_THAT(MeasurementTable::Parse("", "mine.csv", {}),
              StatusIs(kInvalidArgument, HasSubstr("mine.csv: the table is")));
  EXPECT_THAT(MeasurementTable::Parse("a\n\"1\n", "mine.csv", {}),
              StatusIs(kInvalidArgument, HasSubstr("mine.csv: line 2")));
}

TEST(MeasurementTable, AMissingFileIsAnError) {
  EXPECT_FALSE(MeasurementTable::Open("no such file", "kernels.csv", {}).ok());
  EXPECT_EQ(MeasurementTable::Open(std::nullopt, "kernels.csv", {})->origin(),
            "validation/kernels.csv");
}

TEST(MeasurementTable, MovesWithItsRows) {
  MeasurementTable first = Table("id,m\nx,7\n");
  const MeasurementTable second = std::move(first);
  EXPECT_THAT(second.rows()[0].Whole("m"), IsOkAndHolds(7));
  EXPECT_EQ(second.rows()[0].id(), "x");
}

TEST(MeasurementTable, RefusesRowsWithReasonsAndKeepsTheOthers) {
  const MeasurementTable table = Table(
      "id,m\n"
      "a,1\n"
      "b\n"
      ",two\n"
      "d,4\n");
  const auto read = ReadMeasurements<int64_t>(
      table, [](const MeasurementRow& row) { return row.Whole("m"); });
  EXPECT_THAT(read.rows, ElementsAre(1, 4));
  ASSERT_EQ(read.refused.size(), 2u);
  EXPECT_EQ(read.refused[0].ToString(),
            "line 3 (b): the row has not as many fields as the header");
  EXPECT_EQ(read.refused[1].ToString(),
            "line 4: column 'm' must be a whole number from 1 to "
            "1000000000000, got 'two'");
}

TEST(MeasurementRow, NumbersAreChecked) {
  const MeasurementTable table = Table("a,b,c,d,e\n1.5,-2,inf,1e3,\n");
  const MeasurementRow& row = table.rows()[0];
  EXPECT_THAT(row.Positive("a"), IsOkAndHolds(1.5));
  EXPECT_THAT(row.Whole("d"), IsOkAndHolds(1000));
  EXPECT_THAT(row.Whole("a"), StatusIs(kInvalidArgument, HasSubstr("'1.5'")));
  EXPECT_THAT(row.Positive("b"), StatusIs(kInvalidArgument, HasSubstr("'-2'")));
  EXPECT_THAT(row.Positive("c"),
              StatusIs(kInvalidArgument, HasSubstr("'inf'")));
  EXPECT_THAT(row.Whole("d", 1, 999),
              StatusIs(kInvalidArgument, HasSubstr("from 1 to 999")));
  EXPECT_THAT(row.Positive("e"),
              StatusIs(kInvalidArgument, HasSubstr("but is empty")));
  EXPECT_THAT(row.Positive("f"),
              StatusIs(kInvalidArgument, HasSubstr("column 'f'")));
}

TEST(MeasurementRow, NamesMayCarryARemark) {
  const MeasurementTable table =
      Table("a,b,c,d\nselective (core),bf16 (fp32 sums),fp8 e4m3,fp7\n");
  const MeasurementRow& row = table.rows()[0];
  EXPECT_THAT(row.Choice<int>("a", {{"full", 1}, {"selective", 2}}),
              IsOkAndHolds(2));
  EXPECT_THAT(
      row.Choice<int>("a", {{"full", 1}, {"none", 2}, {"", 3}}),
      StatusIs(kInvalidArgument, HasSubstr("must be one of full, none, got")));
  EXPECT_THAT(row.Choice<int>("z", {{"full", 1}, {"", 3}}), IsOkAndHolds(3));
  EXPECT_THAT(row.Format("b"), IsOkAndHolds(DType::kBf16));
  EXPECT_THAT(row.Format("c"), IsOkAndHolds(DType::kFp8));
  EXPECT_THAT(row.Format("d"), StatusIs(kInvalidArgument, HasSubstr("'fp7'")));
}

}  // namespace
}  // namespace orrery
