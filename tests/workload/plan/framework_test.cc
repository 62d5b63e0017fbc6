// What software does with a step, and how far the slowest of many is behind.
#include "workload/plan/framework.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "catalog/catalog.h"
#include "catalog/layer_split.h"
#include "proto/framework.pb.h"
#include "proto/model.pb.h"
#include "tests/status_matchers.h"
#include "workload/plan/host_time.h"

namespace orrery {
namespace {

using absl::StatusCode::kInvalidArgument;
using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<Framework> Read(const std::string& text) {
  pb::Framework proto;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &proto));
  return Framework::FromProto(proto);
}

TEST(Framework, SaysNothingByDefault) {
  ASSERT_OK_AND_ASSIGN(const Framework framework, Read(""));
  EXPECT_EQ(framework.fusion, Fusion::kPointwise);
  EXPECT_FALSE(framework.dispatch.has_value());
  EXPECT_EQ(framework.fragmentation, 0);
}

// The host compares a call with every rank of its group: the check takes as
// many times as there are ranks, and a rank alone checks nothing.
TEST(Framework, ChecksACallWithEveryRankOfItsGroup) {
  ASSERT_OK_AND_ASSIGN(const Framework framework,
                       Read("dispatch: '1 us' collective_check: '3 us'"));
  EXPECT_EQ(CheckTime(framework, 1), Duration(0));
  EXPECT_EQ(CheckTime(framework, 2), FromSeconds(6e-6));
  EXPECT_EQ(CheckTime(framework, 64), FromSeconds(192e-6));
}

// Sums of what groups take would not be counts of bytes any more.
TEST(Framework, RefusesMemoryThatNoChipHas) {
  EXPECT_THAT(Read("group_memory: '4e18 B'"),
              StatusIs(kInvalidArgument, HasSubstr("more than 1 PiB")));
  EXPECT_OK(Read("group_memory: '1 GB' bucket_memory: '2 GB'"));
}

// The batch of a run is not the software's to choose.
TEST(Framework, RefusesWhatIsAMatterOfThePlan) {
  EXPECT_THAT(
      Read("training { global_batch: 8 overlap_tensor: true }"),
      StatusIs(kInvalidArgument, HasSubstr("framework.training.global_batch")));
  EXPECT_THAT(Read("dispatch: '5 GB'"),
              StatusIs(kInvalidArgument, HasSubstr("framework.dispatch")));
  EXPECT_THAT(Read("blocking_launches: true"),
              StatusIs(kInvalidArgument, HasSubstr("needs dispatch")));
  EXPECT_THAT(Read("collective_check: '300 GB'"),
              StatusIs(kInvalidArgument, HasSubstr("collective_check")));
}

TEST(Framework, EveryPresetIsValidAndCited) {
  const Catalog catalog;
  const std::vector<std::string> names = catalog.Names("frameworks");
  EXPECT_GE(names.size(), 10u);
  for (const std::string& name : names) {
    ASSERT_OK_AND_ASSIGN(const pb::Framework proto, catalog.Framework(name));
    EXPECT_EQ(proto.name(), name);
    EXPECT_OK(Framework::FromProto(proto)) << name;
    EXPECT_GT(proto.source_size(), 0) << name;
    EXPECT_FALSE(proto.description().empty()) << name;
  }
}

// Exact values from the tables of order statistics (Harter 1961): the expected
// largest of n standard normal deviates.
TEST(Variation, TheLargestOfManyIsThatOfTheTables) {
  constexpr double kBlom = 0.02;  // what the approximation leaves
  EXPECT_EQ(ExpectedMaximum(1), 0);
  EXPECT_NEAR(ExpectedMaximum(2), 0.5642, 0.03);
  EXPECT_NEAR(ExpectedMaximum(8), 1.4236, kBlom);
  EXPECT_NEAR(ExpectedMaximum(100), 2.5076, kBlom);
  EXPECT_NEAR(ExpectedMaximum(1000), 3.2414, kBlom);
}

// 1 % of spread and none of jitter on 8 chips: 1 + 0.01 x 1.42. Jitter of 4 %
// over 16 passes is 1 % of the step; both together are sqrt(2) %.
TEST(Variation, JitterAveragesOverPassesAndSpreadDoesNot) {
  const double largest = ExpectedMaximum(8);
  EXPECT_DOUBLE_EQ(SlowestOf({.device_spread = 0.01}, 8, 16),
                   1 + 0.01 * largest);
  EXPECT_DOUBLE_EQ(SlowestOf({.pass_jitter = 0.04}, 8, 16), 1 + 0.01 * largest);
  EXPECT_NEAR(SlowestOf({.device_spread = 0.01, .pass_jitter = 0.04}, 8, 16),
              1 + 0.01414214 * largest, 1e-8);
  EXPECT_EQ(SlowestOf({.device_spread = 0.01, .pass_jitter = 0.04}, 1, 1), 1);
}

// Four layers of 12 h^2 and a head of 24 h^2, which is two layers: six units
// over two stages are three each. The first takes layers until it has three.
TEST(LayerSplit, TheHeadCountsAsTheLayersItCosts) {
  pb::Model model;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      "layers: 4 hidden: 64 vocabulary: 1536 "
      "attention { heads: 4 kv_heads: 4 head_dimension: 16 } "
      "mlp { width: 256 activation: GELU }",
      &model));
  EXPECT_THAT(SplitByCost(model, 2), ElementsAre(3, 1));
  EXPECT_THAT(SplitWithinShares(model, 2), ElementsAre(3, 1));
  // Without a head to speak of, two layers are not more than half of four.
  model.set_vocabulary(1);
  EXPECT_THAT(SplitByCost(model, 2), ElementsAre(3, 1));
  EXPECT_THAT(SplitWithinShares(model, 2), ElementsAre(2, 2));
  // No stage but the last is empty, however large the head.
  model.set_vocabulary(1 << 20);
  EXPECT_THAT(SplitByCost(model, 4), ElementsAre(2, 1, 1, 0));
  EXPECT_THAT(SplitWithinShares(model, 4), ElementsAre(2, 1, 1, 0));
}

// By what the first rank of the sweep's runs has allocated (20 bytes for each
// parameter where nothing is sharded; H00007, H00016, H00404, H00193, H00202,
// H00226 and H00400 of validation/training_hf_sweep.csv).
TEST(LayerSplit, IsThatOfTheSweep) {
  const auto first = [](const char* name, int stages) {
    return SplitByCost(Catalog().Model(name).value(), stages).front();
  };
  EXPECT_EQ(first("hf_1_34b", 2), 10);
  EXPECT_EQ(first("hf_1_34b", 4), 5);
  EXPECT_EQ(first("hf_1_34b", 8), 3);
  EXPECT_EQ(first("hf_3_57b", 2), 16);
  EXPECT_EQ(first("hf_3_57b", 4), 8);
  EXPECT_EQ(first("hf_3_57b", 8), 4);
  EXPECT_EQ(first("hf_3_57b", 16), 2);
}

// What nanotron prints for Llama 3 8B over eight stages
// (docs/3d_parallelism.md there): 5, 4, 4, ..., 4, 4 and 2 with the head.
TEST(LayerSplit, IsThatOfNanotron) {
  const auto model = Catalog().Model("llama3_8b");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(SplitByCost(*model, 8), ElementsAre(5, 4, 4, 5, 4, 4, 4, 2));
}

}  // namespace
}  // namespace orrery
