// Measured collectives: reading a table of them, and predicting its rows.
#include "accuracy/collectives/collective_suite.h"

#include "base/format.h"
#include "tests/accuracy/table/tables.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kSystems[] =
    "source_id,hardware,system\n"
    "lab,H100,special\n"
    ",H100,dgx_h100_ib400\n";

TEST(CollectiveMeasurements, ColumnsAreFoundByNameAndOthersIgnored) {
  const CollectiveMeasurements read = ReadCollectiveMeasurements(
      Table("colour,time_us,size_bytes,num_gpus,collective,hardware\n"
            "red,20,1024,8,all_reduce,H100\n"),
      Table(kSystems));
  ASSERT_EQ(read.rows.size(), 1u);
  EXPECT_EQ(read.rows[0].system, "dgx_h100_ib400");
  EXPECT_EQ(read.rows[0].nodes, 1);
  EXPECT_EQ(read.rows[0].bytes, Bytes(1024));
  EXPECT_DOUBLE_EQ(read.rows[0].seconds, 20e-6);
}

// What a row says it ran by is what is predicted; a text that says nothing
// known refuses the row.
TEST(CollectiveSuite, ARowIsPredictedByTheAlgorithmItNames) {
  const auto predicted = [](const std::string& algo, const std::string& bytes) {
    const AccuracyTable table = PredictCollectives(
        ReadCollectiveMeasurements(
            Table("collective,num_gpus,size_bytes,time_us,system,algo\n"
                  "all_reduce,8," +
                  bytes + ",4000,dgx_h100_ib400,\"" + algo + "\"\n"),
            Table(kSystems)),
        "rows");
    if (table.rows().empty()) return std::string("refused");
    return std::get<MeasuredCollective>(table.rows()[0].facts).algorithm;
  };
  for (const std::string bytes : {"16384", "1048576", "1000000000"}) {
    for (const char* ring : {"Ring", "ring", "RING (stated)"}) {
      EXPECT_THAT(predicted(ring, bytes), HasSubstr("ring/")) << bytes;
    }
    EXPECT_EQ(predicted("Ring/LL", bytes), "ring/LL");
    EXPECT_THAT(predicted("Tree", bytes), HasSubstr("double_binary_tree/"));
    EXPECT_THAT(predicted("NVLS (stated)", bytes), HasSubstr("nvls/"));
    EXPECT_EQ(predicted("Ring/LL <=1MiB, NVLS above", bytes).substr(0, 4),
              bytes == "1000000000" ? "nvls" : "ring");
    EXPECT_EQ(predicted("magic", bytes), "refused");
    EXPECT_EQ(predicted("Ring/Carrier pigeon", bytes), "refused");
  }
}

// A host that starts a call every 40 us sees none that is shorter, and all that
// are longer as they are.
TEST(CollectiveSuite, NoCallIsShorterThanItsHostTakes) {
  const MeasurementTable harnesses =
      Table("source_id,kernel,overhead_us\nlab,all_reduce,40\n");
  const auto seconds = [&](const std::string& source,
                           const std::string& bytes) {
    const AccuracyTable table = PredictCollectives(
        ReadCollectiveMeasurements(
            Table("source_id,collective,num_gpus,size_bytes,time_us,system\n" +
                  source + ",all_reduce,8," + bytes + ",40,dgx_h100_ib400\n"),
            Table(kSystems), &harnesses),
        "rows");
    return std::get<MeasuredCollective>(table.rows().at(0).facts).predicted_s;
  };
  EXPECT_LT(seconds("other", "1024"), 40e-6);
  EXPECT_DOUBLE_EQ(seconds("lab", "1024"), 40e-6);
  EXPECT_GT(seconds("lab", "1000000000"), 40e-6);
  EXPECT_EQ(seconds("lab", "1000000000"), seconds("other", "1000000000"));
}

// 7/8 of 8 GB at 350 GB/s of bus bandwidth are 20 ms.
TEST(CollectiveMeasurements, ABandwidthStandsInForATime) {
  const CollectiveMeasurements read = ReadCollectiveMeasurements(
      Table("collective,num_gpus,size_bytes,busbw_GBps,system\n"
            "all_gather,8,8000000000,350,mine\n"),
      Table(kSystems));
  ASSERT_EQ(read.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(read.rows[0].seconds, 0.02);
  EXPECT_EQ(read.rows[0].system, "mine");
}

TEST(CollectiveMeasurements, BadRowsAreListedWithTheColumn) {
  const CollectiveMeasurements read = ReadCollectiveMeasurements(
      Table("id,collective,num_gpus,nodes,size_bytes,time_us,hardware\n"
            "a,all_shout,8,1,1024,5,H100\n"
            "b,all_reduce,1,1,1024,5,H100\n"
            "c,all_reduce,8,3,1024,5,H100\n"
            "d,all_reduce,8,1,,5,H100\n"
            "e,all_reduce,8,1,1024,,H100\n"
            "f,all_reduce,8,1,1024,5,Z9000\n"
            "g,all_reduce,8,1,1024,soon,H100\n"),
      Table(kSystems));
  EXPECT_TRUE(read.rows.empty());
  std::vector<std::string> reasons;
  for (const RefusedRow& row : read.refused) reasons.push_back(row.ToString());
  EXPECT_THAT(
      reasons,
      ElementsAre(
          HasSubstr("line 2 (a): column 'collective' must be one of all_"),
          HasSubstr("line 3 (b): column 'num_gpus' must be a whole number"),
          HasSubstr("(c): column 'nodes' must be a divisor of num_gpus"),
          HasSubstr("(d): column 'size_bytes' must be"),
          HasSubstr("(e): column 'time_us' must be"), HasSubstr("'Z9000'"),
          HasSubstr("(g): column 'time_us' must be a positive number, got "
                    "'soon'")));
}

// 4096 tokens of 7168 numbers in FP8, with a scale of four bytes for 128, go to
// eight of 256 experts: 242.2 MB with every copy. Over eight nodes of which a
// token may go to four it needs 8 x 4/8 x (1 - C(96, 8)/C(128, 8)) = 3.629, so
// 50 GB/s are 4096 x 7392 x 3.629 bytes in 2197.6 us.
TEST(CollectiveMeasurements, TokensForExpertsHaveTheirSizeInTheNotes) {
  const std::string header =
      "collective,num_gpus,nodes,dtype,busbw_GBps,time_us,hardware,library,"
      "notes\n";
  const CollectiveMeasurements read = ReadCollectiveMeasurements(
      Table(header +
            "moe_dispatch,64,8,fp8,50,,H100,DeepEP V1 normal kernels,"
            "\"4096 tokens/GPU, hidden 7168, top-8 in top-4 groups\"\n"
            "moe_combine,64,8,bf16,,314,H100,DeepEP V1 low-latency kernels,"
            "\"128 tokens/GPU, hidden 7168, top-8\"\n"
            "moe_combine,64,8,bf16,,314,H100,DeepEP,tokens\n"
            "moe_combine,48,6,bf16,,314,H100,DeepEP,"
            "\"128 tokens/GPU, hidden 7168, top-8\"\n"),
      Table(kSystems));
  ASSERT_EQ(read.rows.size(), 2u);
  EXPECT_EQ(read.rows[0].bytes, Bytes(int64_t{4096} * 8 * 7392));
  EXPECT_NEAR(read.rows[0].seconds * 1e6, 2197.6, 0.1);
  EXPECT_TRUE(read.rows[0].traffic->by_island);
  EXPECT_EQ(read.rows[1].bytes, Bytes(int64_t{128} * 8 * 7168 * 2));
  EXPECT_DOUBLE_EQ(read.rows[1].seconds, 314e-6);
  EXPECT_FALSE(read.rows[1].traffic->by_island);
  ASSERT_EQ(read.refused.size(), 2u);
  EXPECT_THAT(read.refused[0].ToString(), HasSubstr("column 'notes' must be"));
  EXPECT_THAT(read.refused[1].ToString(),
              HasSubstr("column 'num_gpus' must be a divisor of 256"));
}

// Twice the measured time is half the bandwidth: errors are of the latter. A
// row measured with another library is refused, and counted with its groups.
TEST(CollectiveSuite, ErrorsAreOfTheBandwidthAndTheWholeTableDecides) {
  const char* text =
      "id,collective,num_gpus,size_bytes,time_us,system,library\n"
      "a,all_reduce,8,64000000,{},dgx_h100_ib400,NCCL 2\n"
      "b,all_reduce,8,64000000,100,dgx_h100_ib400,MyCCL\n"
      "c,all_reduce,16,64000000,100,dgx_h100_ib400,\n";
  const auto run = [&](double microseconds) {
    return PredictCollectives(
        ReadCollectiveMeasurements(
            Table(fmt::format(fmt::runtime(text), microseconds)),
            Table(kSystems)),
        "mine.csv");
  };
  const AccuracyTable first = run(1000);
  ASSERT_EQ(first.rows().size(), 1u);
  const double predicted =
      std::get<MeasuredCollective>(first.rows()[0].facts).predicted_s;
  const AccuracyTable far = run(predicted * 1e6 / 2);
  EXPECT_NEAR(far.rows()[0].error(), -0.5, 1e-9);
  EXPECT_FALSE(far.met());
  ASSERT_EQ(far.groups().size(), 2u);
  EXPECT_EQ(far.groups()[0].key.subject, "all");
  EXPECT_EQ(far.groups()[1].key.subject, "dgx_h100_ib400");
  EXPECT_EQ(far.groups()[0].refused, 2);
  EXPECT_THAT(far.refused()[0].reason, HasSubstr("measured with 'MyCCL'"));
  EXPECT_THAT(far.refused()[1].reason, HasSubstr("16 chips on a node"));
  EXPECT_TRUE(run(predicted * 1e6).met());
}

// 18 hosts of four chips are one rack: the bus bandwidth is NVLink's, far above
// what a NIC of 50 GB/s per chip could give.
TEST(CollectiveSuite, HostsOfARackShareItsSwitches) {
  const AccuracyTable table = PredictCollectives(
      ReadCollectiveMeasurements(
          Table("collective,num_gpus,nodes,size_bytes,time_us,system\n"
                "all_gather,72,18,8589934592,20000,gb200_nvl72\n"),
          Table(kSystems)),
      "test");
  ASSERT_EQ(table.rows().size(), 1u);
  EXPECT_GT(table.rows()[0].predicted, 300e9);
}

}  // namespace
}  // namespace orrery
