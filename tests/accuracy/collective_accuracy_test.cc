// Reading a table of measured collectives: the shipped one and a user's own.
#include "cli/collective_accuracy.h"

#include "base/csv.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CsvTable Table(absl::string_view text) {
  absl::StatusOr<CsvTable> table = CsvTable::Parse(text);
  CHECK(table.ok()) << table.status().ToString();
  return *std::move(table);
}

constexpr char kSystems[] =
    "source_id,hardware,system\n"
    "lab,H100,special\n"
    ",H100,dgx_h100_ib400\n";

TEST(CollectiveAccuracy, ColumnsAreFoundByNameAndOthersIgnored) {
  const CsvTable systems = Table(kSystems);
  ASSERT_OK_AND_ASSIGN(
      const CollectiveMeasurements read,
      ReadCollectiveMeasurements(
          Table("colour,time_us,size_bytes,num_gpus,collective,hardware\n"
                "red,20,1024,8,all_reduce,H100\n"),
          systems));
  ASSERT_EQ(read.rows.size(), 1u);
  EXPECT_EQ(read.rows[0].system, "dgx_h100_ib400");
  EXPECT_EQ(read.rows[0].nodes, 1);
  EXPECT_EQ(read.rows[0].bytes, Bytes(1024));
  EXPECT_DOUBLE_EQ(read.rows[0].seconds, 20e-6);
}

// 7/8 of 8 GB at 350 GB/s of bus bandwidth are 20 ms.
TEST(CollectiveAccuracy, ABandwidthStandsInForATime) {
  ASSERT_OK_AND_ASSIGN(
      const CollectiveMeasurements read,
      ReadCollectiveMeasurements(
          Table("collective,num_gpus,size_bytes,busbw_GBps,system\n"
                "all_gather,8,8000000000,350,mine\n"),
          Table(kSystems)));
  ASSERT_EQ(read.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(read.rows[0].seconds, 0.02);
  EXPECT_EQ(read.rows[0].system, "mine");
}

TEST(CollectiveAccuracy, BadRowsAreListedWithTheReason) {
  ASSERT_OK_AND_ASSIGN(
      const CollectiveMeasurements read,
      ReadCollectiveMeasurements(
          Table("id,collective,num_gpus,nodes,size_bytes,time_us,hardware\n"
                "a,moe_dispatch,8,1,1024,5,H100\n"
                "b,all_reduce,1,1,1024,5,H100\n"
                "c,all_reduce,8,3,1024,5,H100\n"
                "d,all_reduce,8,1,,5,H100\n"
                "e,all_reduce,8,1,1024,,H100\n"
                "f,all_reduce,8,1,1024,5,Z9000\n"
                "g,all_reduce,8\n"),
          Table(kSystems)));
  EXPECT_TRUE(read.rows.empty());
  EXPECT_THAT(
      read.refused,
      ElementsAre(HasSubstr("(a): collective 'moe_dispatch'"),
                  HasSubstr("line 3 (b): num_gpus"), HasSubstr("(c): nodes"),
                  HasSubstr("(d): no size"), HasSubstr("(e): neither time_us"),
                  HasSubstr("hardware 'Z9000'"),
                  HasSubstr("line 8 (g): not as many fields")));
}

TEST(CollectiveAccuracy, ATableWithoutWhatIsNeededIsRefused) {
  EXPECT_THAT(
      ReadCollectiveMeasurements(Table("collective\n"), Table(kSystems))
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("num_gpus")));
}

TEST(CollectiveAccuracy, SummariesAreOfAbsoluteErrors) {
  CollectiveMeasurement row;
  row.system = "s";
  row.bytes = Bytes(64'000'000);
  std::vector<CollectivePrediction> predictions;
  for (double predicted : {90.0, 104.0, 102.0}) {
    predictions.push_back({&row, 1, "ring", 100, predicted});
  }
  const std::vector<CollectiveAccuracy> groups =
      SummariseCollectives(predictions);
  ASSERT_EQ(groups.size(), 2u);  // all, s
  EXPECT_EQ(groups[0].system, "all");
  EXPECT_EQ(groups[0].size, SizeClass::kLarge);
  EXPECT_NEAR(groups[1].median, 0.04, 1e-12);
  EXPECT_NEAR(groups[1].mean, 0.16 / 3, 1e-12);
  EXPECT_NEAR(groups[1].worst, 0.10, 1e-12);
  EXPECT_TRUE(groups[1].met());
}

}  // namespace
}  // namespace orrery
