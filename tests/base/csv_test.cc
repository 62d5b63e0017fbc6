#include "base/csv.h"

#include "tests/status_matchers.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;

TEST(Csv, FindsColumnsByNameAndKeepsQuotedCommas) {
  ASSERT_OK_AND_ASSIGN(const CsvTable table,
                       CsvTable::Parse("a,b\r\n\"x, \"\"y\"\"\",2\n\n,7\n"));
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.rows()[0].Get("a"), "x, \"y\"");
  EXPECT_EQ(table.rows()[0].Number("b"), 2);
  EXPECT_EQ(table.rows()[1].Get("a"), std::nullopt);
  EXPECT_EQ(table.rows()[1].line(), 4);
  EXPECT_EQ(table.rows()[1].Get("c"), std::nullopt);
  EXPECT_TRUE(table.HasColumn("b"));
}

TEST(Csv, KeepsRowsOfTheWrongLengthAndSaysSo) {
  ASSERT_OK_AND_ASSIGN(const CsvTable table, CsvTable::Parse("a,b\n1\n1,2\n"));
  EXPECT_FALSE(table.rows()[0].whole());
  EXPECT_TRUE(table.rows()[1].whole());
  EXPECT_EQ(table.rows()[0].Number("b"), std::nullopt);
}

TEST(Csv, IgnoresTheByteOrderMarkOfSpreadsheets) {
  ASSERT_OK_AND_ASSIGN(const CsvTable table, CsvTable::Parse("\xef\xbb\xbf"
                                                             "a,b\r\n1,2\r\n"));
  EXPECT_TRUE(table.HasColumn("a"));
  EXPECT_EQ(table.rows()[0].Number("a"), 1);
}

TEST(Csv, RefusesWhatIsNoTable) {
  EXPECT_THAT(CsvTable::Parse("").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty")));
  EXPECT_THAT(CsvTable::Parse("a,a\n").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("twice")));
  EXPECT_THAT(
      CsvTable::Parse("a\n\"x").status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 2")));
}

}  // namespace
}  // namespace orrery
