#include "workload/model/op.h"

#include <gtest/gtest.h>

#include "workload/model/optimizer_ops.h"

namespace orrery {
namespace {

double MatrixFlopsOf(const Work& work) {
  return MatrixFlops(Op{OpName::kPointwise, Pass::kForward, work}).value();
}
int64_t BytesOf(const Work& work) {
  return CompulsoryBytes(Op{OpName::kPointwise, Pass::kForward, work}).value();
}

TEST(Op, AMatrixProductCountsTwoPerMultiplyAdd) {
  const Gemm gemm{.m = 3, .n = 5, .k = 7, .batch = 2};
  EXPECT_EQ(MatrixFlopsOf(gemm), 2.0 * 3 * 5 * 7 * 2);
  // A 3x7, B 7x5, C 3x5, 16 bits each, twice.
  EXPECT_EQ(BytesOf(gemm), 2 * 2 * (21 + 35 + 15));
}

TEST(Op, AnAccumulatingProductReadsItsOutputToo) {
  Gemm gemm{.m = 4, .n = 4, .k = 4, .output = DType::kFp32};
  const int64_t without = BytesOf(gemm);
  gemm.accumulate = true;
  EXPECT_EQ(BytesOf(gemm), without + 4 * 4 * 4);
}

TEST(Op, GroupsReadOnlyTheWeightsOfActiveOnes) {
  const GroupedGemm gemm{
      .groups = 4, .rows = 2, .hot_rows = 6, .active = 3, .n = 10, .k = 8};
  EXPECT_EQ(gemm.total_rows(), 12);
  EXPECT_EQ(MatrixFlopsOf(gemm), 2.0 * 12 * 10 * 8);
  EXPECT_EQ(BytesOf(gemm), 2 * (12 * 8 + 3 * 10 * 8 + 12 * 10));
}

FusedAttention Square(int64_t length, Mask mask) {
  return {.batch = 2,
          .query_heads = 4,
          .kv_heads = 2,
          .queries = length,
          .keys = length,
          .head_dimension = 16,
          .value_dimension = 16,
          .mask = mask};
}

TEST(Op, CausalAttentionCountsTheTriangleWithItsDiagonal) {
  EXPECT_EQ(AttentionPairs(Square(10, Mask::kFull)), 2 * 4 * 100);
  EXPECT_EQ(AttentionPairs(Square(10, Mask::kCausal)), 2 * 4 * 55);
  // One of two ranks with balanced halves of 20 tokens: half of 210 pairs.
  FusedAttention shared = Square(20, Mask::kCausalBalanced);
  shared.queries = 10;
  EXPECT_EQ(AttentionPairs(shared), 2 * 4 * 105);
}

TEST(Op, ADecodeStepSeesEveryKey) {
  FusedAttention decode = Square(100, Mask::kCausal);
  decode.queries = 1;
  EXPECT_EQ(AttentionPairs(decode), 2 * 4 * 100);
}

TEST(Op, AWindowLimitsWhatAQuerySees) {
  // Queries 1..10 see min(i, 4) keys: 1 + 2 + 3 + 7 * 4 = 34.
  FusedAttention windowed = Square(10, Mask::kCausal);
  windowed.window = 4;
  EXPECT_EQ(AttentionPairs(windowed), 2 * 4 * 34);
  // With 3 queries after 7 cached keys all see 4.
  windowed.queries = 3;
  EXPECT_EQ(AttentionPairs(windowed), 2 * 4 * 12);
  // A window longer than the sequence changes nothing.
  windowed = Square(10, Mask::kCausal);
  windowed.window = 99;
  EXPECT_EQ(AttentionPairs(windowed), 2 * 4 * 55);
}

TEST(Op, BackwardAttentionHasFiveProductsOfWhichTheModelCountsFour) {
  FusedAttention attention = Square(10, Mask::kFull);
  const Op forward{OpName::kAttention, Pass::kForward, attention};
  EXPECT_EQ(MatrixFlops(forward).value(), 4.0 * 2 * 4 * 100 * 16);
  attention.backward = true;
  const Op backward{OpName::kAttention, Pass::kInputGradient, attention};
  EXPECT_EQ(MatrixFlops(backward) / MatrixFlops(forward), 2.5);
  EXPECT_EQ(ModelFlops(backward) / ModelFlops(forward), 2.0);
}

TEST(Op, SharedKeysAndValuesAreReadOnce) {
  // Latent attention: 3 sequences of 100 cached tokens, one latent of 576 for
  // 8 heads; queries 8 x 576, outputs 8 x 512, log-sum-exp in FP32.
  const FusedAttention latent{.batch = 3,
                              .query_heads = 8,
                              .kv_heads = 1,
                              .queries = 1,
                              .keys = 100,
                              .head_dimension = 576,
                              .value_dimension = 512,
                              .shared_key_value = true};
  EXPECT_EQ(BytesOf(latent),
            3 * (100 * 576 * 2 + 8 * 576 * 2 + 8 * 512 * 2 + 8 * 4));
}

TEST(OptimizerOps, MixedPrecisionAdamMoves32BytesPerParameter) {
  const std::vector<Op> ops =
      OptimizerOps({.parameters = 1000, .gradients = 4000});
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].name, OpName::kGradientNorm);
  EXPECT_EQ(CompulsoryBytes(ops[0]).value(), 4 * 4000);
  // Read 2 + 4 + 8 + 4, written 2 + 8 + 4.
  EXPECT_EQ(CompulsoryBytes(ops[1]).value(), 32 * 1000);
}

TEST(OptimizerOps, ClippingThatIsNotFusedPassesOverTheGradientsAgain) {
  const std::vector<Op> ops = OptimizerOps(
      {.parameters = 1000, .gradients = 1000, .fused_clip = false});
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_EQ(ops[1].name, OpName::kGradientScale);
  EXPECT_EQ(CompulsoryBytes(ops[1]).value(), 2 * 4 * 1000);
}

TEST(Op, NamesAreDistinct) {
  std::vector<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(OpName::kPointwise); ++i) {
    names.push_back(Name(static_cast<OpName>(i)));
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace orrery
