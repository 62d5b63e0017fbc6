// What software makes of a layer: products apart, copied keys and values,
// complex rotations, norms an operator at a time, and what stays where ops are
// told apart. Llama 3 8B with 16 384 tokens, as torchtitan trains it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/workload/model/layer_lists.h"
#include "workload/model/layer.h"

namespace orrery {
namespace {

using testing::ElementsAre;

constexpr int64_t kTokens = 2 * 8192;
constexpr int64_t kHidden = 4096;
constexpr int64_t kShared = 1024;  // 8 heads of keys, and of values
constexpr int64_t kWidth = 14336;
constexpr int64_t kHeads = 32;

LayerShape Shape() {
  return {.groups = {{.count = 2, .queries = 8192}},
          .fusion = Fusion::kResidualNorm};
}

std::vector<int64_t> OutputsOf(const std::vector<LayerStep>& steps,
                               OpName name) {
  std::vector<int64_t> outputs;
  for (const Op& op : OpsNamed(steps, name)) {
    if (const auto* gemm = std::get_if<Gemm>(&op.work)) {
      outputs.push_back(gemm->n);
    }
  }
  return outputs;
}

const Pointwise& TheOne(const std::vector<Op>& ops) {
  EXPECT_EQ(ops.size(), 1U);
  return std::get<Pointwise>(ops.front().work);
}

TEST(LayerSoftware, ProductsApartAreTheSameArithmeticInMoreKernels) {
  const Model model = Preset("llama3_8b");
  LayerShape shape = Shape();
  const LayerOps together = BuildLayer(model, 0, shape);
  shape.products_apart = true;
  const LayerOps apart = BuildLayer(model, 0, shape);
  EXPECT_THAT(OutputsOf(together.forward, OpName::kQueryKeyValue),
              ElementsAre(kHidden + 2 * kShared));
  EXPECT_THAT(OutputsOf(apart.forward, OpName::kQueryKeyValue),
              ElementsAre(kHidden, kShared, kShared));
  EXPECT_THAT(OutputsOf(apart.forward, OpName::kMlpUp),
              ElementsAre(kWidth, kWidth));
  for (const auto list : {&LayerOps::forward, &LayerOps::input_gradient,
                          &LayerOps::weight_gradient}) {
    EXPECT_EQ(SumMatrixFlops(apart.*list), SumMatrixFlops(together.*list));
  }
  // Three gradients of the tokens become one, and two: 3 + 1 and 2 + 1 tensors.
  const std::vector<Op> sums =
      OpsNamed(apart.input_gradient, OpName::kAccumulate);
  ASSERT_EQ(sums.size(), 2U);
  const Bytes tensor = StorageBytes(DType::kBf16, kTokens * kHidden);
  EXPECT_EQ(std::get<Pointwise>(sums[0].work).read, tensor * 2);
  EXPECT_EQ(std::get<Pointwise>(sums[1].work).read, tensor * 3);
  EXPECT_EQ(std::get<Pointwise>(sums[1].work).written, tensor);
}

// One tensor of tokens is cast for all products that read it.
TEST(LayerSoftware, ProductsApartCastTheirInputOnce) {
  const Model model = Preset("llama3_8b");
  LayerShape shape = Shape();
  shape.precision = DType::kFp8;
  const auto casts = [&] {
    return OpsNamed(BuildLayer(model, 0, shape).forward, OpName::kQuantize)
        .size();
  };
  const size_t together = casts();
  shape.products_apart = true;
  EXPECT_EQ(casts(), together);
}

// 8 heads become 32: 2 x 1024 columns are read and 2 x 4096 written, and as
// many stay for attention's gradient.
TEST(LayerSoftware, CopiedKeysAndValuesAreAsWideAsQueries) {
  const Model model = Preset("llama3_8b");
  LayerShape shape = Shape();
  const LayerOps shared = BuildLayer(model, 0, shape);
  shape.repeats_key_values = true;
  const LayerOps copied = BuildLayer(model, 0, shape);
  const Pointwise copy = TheOne(OpsNamed(copied.forward, OpName::kPointwise));
  EXPECT_EQ(copy.read, StorageBytes(DType::kBf16, kTokens * 2 * kShared));
  EXPECT_EQ(copy.written, StorageBytes(DType::kBf16, kTokens * 2 * kHidden));
  const Op core = OpsNamed(copied.forward, OpName::kAttention).at(0);
  EXPECT_EQ(std::get<FusedAttention>(core.work).kv_heads, kHeads);
  EXPECT_EQ(KeptBytes(copied, kNoModule) - KeptBytes(shared, kNoModule),
            StorageBytes(DType::kBf16, kTokens * 2 * (kHidden - kShared)));
}

// Per element of 2 bytes: cast 2 + 4, product 4 + 4, cast 4 + 2.
TEST(LayerSoftware, AComplexRotationGoesThroughFp32) {
  const Model model = Preset("llama3_8b");
  LayerShape shape = Shape();
  shape.complex_rotation = true;
  const LayerOps ops = BuildLayer(model, 0, shape);
  const Pointwise rotation = TheOne(OpsNamed(ops.forward, OpName::kRotary));
  const Bytes rotated =
      StorageBytes(DType::kBf16, kTokens * (kHidden + kShared));
  EXPECT_EQ(rotation.read + rotation.written, rotated * 10);
}

// x.float() 1 + 2, the square 2 + 2, its mean 2, the product with the root 2 +
// 2, the cast 2 + 1, the weights 1 + 1: 18 times the tensor where one kernel
// reads and writes it once.
TEST(LayerSoftware, ANormInPartsGoesOverItsTensorAgainAndAgain) {
  const Model model = Preset("llama3_8b");
  LayerShape shape = Shape();
  shape.norms_in_parts = true;
  const LayerOps ops = BuildLayer(model, 0, shape);
  const std::vector<Op> norms = OpsNamed(ops.forward, OpName::kNorm);
  ASSERT_EQ(norms.size(), 2U);
  const auto& norm = std::get<Pointwise>(norms[0].work);
  EXPECT_EQ(norm.read + norm.written,
            StorageBytes(DType::kBf16, kTokens * kHidden) * 18);
}

// torchtitan's parallelize_llama.py keeps attention's output and that of every
// second product: of wq, wk, wv, wo, w1, w3, w2 the first, third, fifth and
// seventh, whose output nobody needs.
TEST(LayerSoftware, PerOpEverySecondProductStays) {
  const Model model = Preset("llama3_8b");
  LayerShape shape = Shape();
  shape.products_apart = true;
  const LayerOps ops = BuildLayer(model, 0, shape);
  std::vector<std::string> kept;
  std::vector<LayerStep> again;
  for (const LayerStep& step : ops.forward) {
    if (step.kept_per_op) {
      kept.emplace_back(Name(step.op()->name));
    } else {
      again.push_back(step);
    }
  }
  EXPECT_THAT(kept, ElementsAre("query_key_value", "query_key_value",
                                "attention", "mlp_up", "mlp_down"));
  // wk, wo and w3.
  EXPECT_DOUBLE_EQ(SumMatrixFlops(again).value(),
                   2.0 * kTokens * kHidden * (kShared + kHidden + kWidth));
  // The layer's input, q, v, attention's output with its sums, w1; and w2
  // unless it is left out.
  const Bytes bytes =
      StorageBytes(DType::kBf16, kTokens * (3 * kHidden + kShared + kWidth)) +
      StorageBytes(DType::kFp32, kTokens * kHeads);
  EXPECT_EQ(KeptPerOpBytes(ops, /*pruned=*/true), bytes);
  EXPECT_EQ(KeptPerOpBytes(ops, /*pruned=*/false),
            bytes + StorageBytes(DType::kBf16, kTokens * kHidden));
}

// What tensor ranks sum and scatter stays, so that the product before it does
// not run again; gathers do.
TEST(LayerSoftware, PerOpScatteredSumsStay) {
  const Model model = Preset("llama3_8b");
  LayerShape shape = Shape();
  shape.products_apart = true;
  shape.tensor = 8;
  shape.sequence_parallel = true;
  const LayerOps ops = BuildLayer(model, 0, shape);
  for (const LayerStep& step : ops.forward) {
    if (const Exchange* exchange = step.exchange()) {
      const bool sum = exchange->kind == ExchangeKind::kReduceScatter;
      EXPECT_EQ(step.kept_per_op.has_value(), sum);
      if (!sum) continue;
      EXPECT_EQ(*step.kept_per_op,
                StorageBytes(DType::kBf16, kTokens / 8 * kHidden));
    } else if (step.op()->name == OpName::kAttentionOutput) {
      EXPECT_EQ(step.kept_per_op, Bytes(0));
    }
  }
}

}  // namespace
}  // namespace orrery
