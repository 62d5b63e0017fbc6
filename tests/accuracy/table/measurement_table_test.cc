#include "accuracy/table/measurement_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
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

// A column counts even where a row's kind has no use for it.
TEST(MeasurementTable, EveryColumnOfTheUsersHoldsWhatItMay) {
  const std::string file = testing::TempDir() + "/column_types.csv";
  const auto reasons = [&](const char* name, const std::string& text) {
    EXPECT_OK(WriteFile(file, text));
    const auto table = MeasurementTable::Open(file, name, {});
    EXPECT_THAT(table, IsOk());
    std::string all;
    for (const RefusedRow& row : table->malformed()) all += row.reason + "\n";
    return all;
  };
  struct Wrong {
    const char* table;
    const char* column;
    std::vector<const char*> values;
  };
  const Wrong cases[] = {
      {"inference.csv", "mfu_pct", {"lots", "-1"}},
      {"inference.csv", "mem_gb", {"lots"}},
      {"inference.csv", "tpot_ms", {"-1", "1e-300"}},
      {"kernels.csv", "kv_dtype", {"fp7"}},
      {"collectives.csv", "size_meaning", {"garbage"}},
      {"collectives.csv", "dtype", {"garbage"}},
      {"collectives.csv", "gpus_per_node", {"-1", "0", "1.5"}},
      {"collectives.csv", "busbw_GBps", {"-1"}},
      {"collectives.csv", "time_us", {"1e-300", "1e300", "inf"}},
      {"training.csv", "tflops_kind", {"garb@ge"}},
      {"training.csv", "mfu_pct", {"-1"}},
      {"training.csv", "params_b", {"-1"}}};
  for (const Wrong& wrong : cases) {
    for (const char* value : wrong.values) {
      EXPECT_THAT(
          reasons(wrong.table,
                  std::string("id,") + wrong.column + "\na," + value + "\n"),
          AllOf(HasSubstr(std::string("column '") + wrong.column + "' must"),
                HasSubstr(std::string("got '") + value + "'")));
    }
  }
  EXPECT_THAT(reasons("collectives.csv", "id,time_us\na,1e300\n"),
              HasSubstr("must be a number from 1e-06 to 1e+13"));
  EXPECT_THAT(reasons("collectives.csv", "id,time_us\na,1\nb,2\na,3\n"),
              HasSubstr("column 'id' must be of this row alone, but line 2"));
}

// The tables that came with Orrery hold what columns may.
TEST(MeasurementTable, OursAreLegalToo) {
  for (const char* name : {"collectives.csv", "kernels.csv", "training.csv",
                           "training_hf_sweep.csv", "inference.csv",
                           "inference_held_out.csv", "cost.csv"}) {
    const auto table =
        MeasurementTable::Open(std::string("validation/") + name, name, {});
    ASSERT_THAT(table, IsOk());
    EXPECT_TRUE(table->malformed().empty())
        << name << " " << table->malformed()[0].ToString();
  }
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
            "line 3 (b): the row has 1 field, the header has 2");
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
