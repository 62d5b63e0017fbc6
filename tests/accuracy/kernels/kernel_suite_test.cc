// The published kernels against the chips' models: every bar, on every chip
// that has rows, with one set of constants each; and again on the rows that no
// constant was fitted to.
#include "accuracy/kernels/kernel_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "tests/accuracy/table/tables.h"
#include "tests/status_matchers.h"

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MeasuredKernels : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto table = RunKernelSuite(std::nullopt);
    CHECK(table.ok()) << table.status().ToString();
    table_ = new AccuracyTable(*std::move(table));
  }
  static void TearDownTestSuite() { delete table_; }

  static double ErrorOf(const std::string& id) {
    for (const AccuracyRow& row : table_->rows()) {
      if (row.id == id) return row.error();
    }
    CHECK(false) << "no row " << id;
    return 0;
  }
  static bool IsIn(const AccuracyRow& row, const std::string& part) {
    for (const GroupKey& key : row.groups) {
      if (key.part == part) return true;
    }
    return false;
  }
  // Its products are estimates, and miss some bars.
  static bool IsEstimate(const GroupKey& key) { return key.subject == "gb200"; }
  static std::string Describe(const AccuracyGroup& group) {
    return group.key.subject + ", " + group.key.part;
  }

  static AccuracyTable* table_;
};
AccuracyTable* MeasuredKernels::table_ = nullptr;

TEST_F(MeasuredKernels, EveryRowIsPredictedOrRefusedWithAReason) {
  EXPECT_EQ(table_->rows().size(), 1056u);
  // Four rows of the layer are all-reduces, two are unfused attention with a
  // backward pass.
  EXPECT_EQ(table_->refused().size(), 6u);
}

// Products of each source by themselves, too; three of them miss, and of three
// large products of the B200 the one that was not fitted (docs/accuracy.md).
TEST_F(MeasuredKernels, MediansMeetTheirBarsOnEveryChip) {
  const std::map<std::string, double> misses = {
      {"b200_sxm, gemm above 1 TFLOP", 0.045},
      {"b200_sxm, gemm, vllm_gemm_b200", 0.095},
      {"a100_sxm_80, gemm, llmcompass_a100_layer", 0.089},
      {"h100_sxm, gemm, vllm_gemm_h100", 0.083}};
  for (const AccuracyGroup& group : table_->groups()) {
    ASSERT_TRUE(group.bars.median.has_value()) << Describe(group);
    if (const auto known = misses.find(Describe(group));
        known != misses.end()) {
      EXPECT_LE(group.errors.median, known->second) << Describe(group);
      continue;
    }
    EXPECT_LE(group.errors.median, *group.bars.median) << Describe(group);
    const bool of_source = group.key.part.starts_with("gemm, ");
    if (of_source || IsEstimate(group.key)) continue;
    EXPECT_LE(group.errors.held_out_median.value_or(0), *group.bars.median)
        << Describe(group) << ", held out";
  }
}

TEST_F(MeasuredKernels, NoMoreThanHalfOfAnythingWasFitted) {
  for (const AccuracyGroup& group : table_->groups()) {
    if (group.errors.rows < 10) continue;
    EXPECT_LE(2 * group.errors.fitted, group.errors.rows + 3)
        << Describe(group);
  }
}

// Products above 1 TFLOP lie within the 9 % by which three published sets of
// the same product differ.
TEST_F(MeasuredKernels, LargeProductsAreWithinTheScatterOfMeasurements) {
  for (const AccuracyRow& row : table_->rows()) {
    if (!IsIn(row, "gemm above 1 TFLOP") || IsEstimate(row.groups[0])) {
      continue;
    }
    EXPECT_LT(std::abs(row.error()), 0.09) << row.id;
  }
}

// FlashAttention-2 on the A100: forward and backward, both widths of head, from
// 2 K tokens on; and what a causal mask saves.
TEST_F(MeasuredKernels, FlashAttentionOnTheA100) {
  ASSERT_OK_AND_ASSIGN(const MeasurementTable table,
                       OpenKernelTable(std::nullopt));
  for (const MeasurementRow& row : table.rows()) {
    if (row.Text("source_id") != "fa2_a100") continue;
    ASSERT_OK_AND_ASSIGN(const int64_t queries, row.Whole("seq_q"));
    if (queries < 2048) continue;
    EXPECT_LT(std::abs(ErrorOf(row.id())), 0.10) << row.id();
  }
  // Rows in pairs: full K00256.., causal K00267.. (64 wide), K00261.. and
  // K00273.. (128 wide), each from 2 K to 16 K.
  for (int i = 0; i < 4; ++i) {
    for (const auto& [full, causal] :
         {std::pair(256 + i, 267 + i), std::pair(261 + i, 273 + i)}) {
      const double ratio = (1 + ErrorOf("K00" + std::to_string(causal))) /
                           (1 + ErrorOf("K00" + std::to_string(full)));
      EXPECT_NEAR(ratio, 1, 0.05) << "K00" << full;
    }
  }
}

// DeepGEMM on the H800, 64 experts of 4096 x 7168: as long as the weights'
// stream lasts, rows cost nothing.
TEST_F(MeasuredKernels, GroupedProductsAreFlatWhileWeightsStream) {
  for (const char* id : {"K00618", "K00620", "K00622", "K00624"}) {
    EXPECT_LT(std::abs(ErrorOf(id)), 0.03) << id;
  }
}

// 2 x 8192^3 flops in 700 us would be 1571 TFLOP/s, beyond the chip's peak.
TEST(KernelSuite, ARowFarOffMissesItsBar) {
  const AccuracyTable table = PredictKernels(
      ReadKernelMeasurements(Table("id,chip,kernel,dtype,m,n,k,time_us\n"
                                   "a,h100_sxm,gemm,bf16,8192,8192,8192,700\n"
                                   "b,h1000,gemm,bf16,8192,8192,8192,700\n"
                                   "c,h100_sxm,gemm,bf16,8192,x,8192,700\n"),
                             Table("source_id,kernel,overhead_us\n,,\n")),
      "mine.csv");
  EXPECT_FALSE(table.met());
  ASSERT_EQ(table.rows().size(), 1u);
  EXPECT_EQ(table.rows()[0].id, "a");
  ASSERT_EQ(table.groups().size(), 2u);  // gemm, gemm above 1 TFLOP
  EXPECT_GT(table.groups()[0].errors.bias, 0.3);
  EXPECT_THAT(
      table.refused(),
      ElementsAre(testing::Field(&RefusedRow::reason, HasSubstr("h1000")),
                  testing::Field(&RefusedRow::reason,
                                 HasSubstr("column 'n' must be a whole"))));
}

}  // namespace
}  // namespace orrery
