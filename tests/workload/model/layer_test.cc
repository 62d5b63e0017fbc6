#include "workload/model/layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/workload/model/layer_lists.h"
#include "tests/workload/model/models.h"
#include "workload/plan/expert_routing.h"

namespace orrery {
namespace {

using testing::ElementsAre;

TEST(Layer, ADenseLayerOnOneChipHasItsOpsInOrder) {
  const Model model = MakeModel(kSmallDense);
  const LayerOps ops = BuildLayer(model, 0, {.groups = {{.queries = 32}}});
  EXPECT_THAT(Words(ops.forward),
              ElementsAre("norm", "query_key_value", "rotary", "attention",
                          "attention_output", "residual", "norm", "mlp_up",
                          "mlp_activation", "mlp_down", "residual"));
  EXPECT_THAT(Words(ops.input_gradient),
              ElementsAre("mlp_down", "mlp_activation", "mlp_up", "norm",
                          "residual", "attention_output", "attention", "rotary",
                          "query_key_value", "norm", "residual"));
  EXPECT_THAT(
      Words(ops.weight_gradient),
      ElementsAre("mlp_down", "mlp_up", "attention_output", "query_key_value"));
}

TEST(Layer, GradientsOfAProductAreTheTransposedProducts) {
  const Model model = MakeModel(kSmallDense);
  const LayerOps ops =
      BuildLayer(model, 0, {.groups = {{.count = 3, .queries = 32}}});
  // 96 tokens; q 64, k 16, v 16 wide from 64.
  const Gemm forward = std::get<Gemm>(ops.forward[1].op()->work);
  EXPECT_EQ(forward, (Gemm{.m = 96, .n = 96, .k = 64}));
  const Gemm input = std::get<Gemm>(ops.input_gradient[8].op()->work);
  EXPECT_EQ(input, (Gemm{.m = 96, .n = 64, .k = 96}));
  const Gemm weight = std::get<Gemm>(ops.weight_gradient[3].op()->work);
  EXPECT_EQ(weight, (Gemm{.m = 96,
                          .n = 64,
                          .k = 96,
                          .output = DType::kFp32,
                          .accumulate = true}));
}

// The product writes the gradient in 16 bits; a kernel reads that and the FP32
// sum, and writes the sum: 2 + 4 + 4 bytes per weight.
TEST(Layer, AnAccumulationOfItsOwnReadsAndWritesTheSum) {
  const Model model = MakeModel(kSmallDense);
  LayerShape shape{.groups = {{.queries = 64}}};
  shape.fuse_accumulation = false;
  const LayerOps ops = BuildLayer(model, 0, shape);
  int products = 0;
  int64_t weights = 0;
  Bytes added;
  for (const LayerStep& step : ops.weight_gradient) {
    if (const auto* g = std::get_if<Gemm>(&step.op()->work)) {
      EXPECT_FALSE(g->accumulate);
      EXPECT_EQ(g->output, DType::kBf16);
      weights += g->m * g->n;
      ++products;
    } else if (step.op()->name == OpName::kAccumulate) {
      added += CompulsoryBytes(*step.op());
      --products;
    }
  }
  EXPECT_EQ(products, 0);
  EXPECT_EQ(added, Bytes(10 * weights));
}

TEST(Layer, TensorParallelismSumsTwiceForwardAndTwiceBackward) {
  const Model model = MakeModel(kSmallDense);
  const LayerOps ops =
      BuildLayer(model, 0, {.groups = {{.queries = 32}}, .tensor = 2});
  EXPECT_THAT(Words(ops.forward),
              ElementsAre("norm", "query_key_value", "rotary", "attention",
                          "attention_output", "all_reduce tensor", "residual",
                          "norm", "mlp_up", "mlp_activation", "mlp_down",
                          "all_reduce tensor", "residual"));
  int sums = 0;
  for (const LayerStep& step : ops.input_gradient) {
    if (step.exchange() == nullptr) continue;
    ++sums;
    // b s h e = 32 tokens x 64 x 2 bytes.
    EXPECT_EQ(step.exchange()->bytes, Bytes(32 * 64 * 2));
    EXPECT_EQ(step.exchange()->kind, ExchangeKind::kAllReduce);
  }
  EXPECT_EQ(sums, 2);
}

TEST(Layer, SequenceParallelismGathersAndScatters) {
  const Model model = MakeModel(kSmallDense);
  const LayerOps ops = BuildLayer(
      model, 0,
      {.groups = {{.queries = 32}}, .tensor = 2, .sequence_parallel = true});
  EXPECT_THAT(Words(ops.forward),
              ElementsAre("norm", "all_gather tensor", "query_key_value",
                          "rotary", "attention", "attention_output",
                          "reduce_scatter tensor", "residual", "norm",
                          "all_gather tensor", "mlp_up", "mlp_activation",
                          "mlp_down", "reduce_scatter tensor", "residual"));
  EXPECT_THAT(
      Words(ops.weight_gradient),
      ElementsAre("mlp_down", "all_gather tensor", "mlp_up", "attention_output",
                  "all_gather tensor", "query_key_value"));
  // The norm sees half the tokens: 16 x 64 x 2 bytes read.
  EXPECT_EQ(std::get<Pointwise>(ops.forward[0].op()->work).read,
            Bytes(16 * 64 * 2));
}

// Documents of two lengths in one micro-batch: attention of each by itself,
// everything else over the tokens of both.
TEST(Layer, GroupsOfATrainingBatchAddUp) {
  const Model model = MakeModel(kSmallDense);
  const SequenceGroup longer{.count = 2, .queries = 64};
  const SequenceGroup shorter{.count = 5, .queries = 16};
  const LayerOps both = BuildLayer(model, 0, {.groups = {longer, shorter}});
  const LayerOps one = BuildLayer(model, 0, {.groups = {longer}});
  const LayerOps other = BuildLayer(model, 0, {.groups = {shorter}});
  EXPECT_EQ(SumMatrixFlops(both.forward),
            SumMatrixFlops(one.forward) + SumMatrixFlops(other.forward));
  EXPECT_EQ(SumMatrixFlops(both.input_gradient),
            SumMatrixFlops(one.input_gradient) +
                SumMatrixFlops(other.input_gradient));
  EXPECT_EQ(KeptBytes(both, kNoModule),
            KeptBytes(one, kNoModule) + KeptBytes(other, kNoModule));
  EXPECT_EQ(OpsNamed(both.forward, OpName::kAttention).size(), 2u);
  EXPECT_EQ(OpsNamed(both.forward, OpName::kMlpUp).size(), 1u);
}

TEST(Layer, SplittingOverTensorRanksConservesFlops) {
  const Model model = Preset("llama3_8b");
  const LayerShape whole{.groups = {{.count = 2, .queries = 512}}};
  const LayerOps one = BuildLayer(model, 0, whole);
  for (const int tensor : {2, 4, 8}) {
    LayerShape shape = whole;
    shape.tensor = tensor;
    const LayerOps share = BuildLayer(model, 0, shape);
    EXPECT_EQ(SumMatrixFlops(share.forward).value() * tensor,
              SumMatrixFlops(one.forward).value());
    EXPECT_EQ(SumMatrixFlops(share.weight_gradient).value() * tensor,
              SumMatrixFlops(one.weight_gradient).value());
  }
}

class ContextRanks : public testing::TestWithParam<AttentionKernel> {};

TEST_P(ContextRanks, ConserveFlops) {
  const Model model = Preset("llama3_8b");
  for (const ContextMethod method :
       {ContextMethod::kRing, ContextMethod::kAllGather,
        ContextMethod::kUlysses}) {
    LayerShape shape{.groups = {{.count = 2, .queries = 4096}},
                     .attention = GetParam()};
    const LayerOps one = BuildLayer(model, 0, shape);
    shape.context = 4;
    shape.context_method = method;
    const LayerOps share = BuildLayer(model, 0, shape);
    EXPECT_DOUBLE_EQ(4 * SumMatrixFlops(share.forward).value(),
                     SumMatrixFlops(one.forward).value());
    EXPECT_DOUBLE_EQ(4 * SumMatrixFlops(share.input_gradient).value(),
                     SumMatrixFlops(one.input_gradient).value());
    EXPECT_EQ(KeptBytes(share, kNoModule) * 4, KeptBytes(one, kNoModule));
  }
}

// Bytes of training traffic: all-gather of K and V is 2 b s h_kv e / t, a ring
// block 2 b (s/c) h_kv e / t in c - 1 steps, Ulysses (b s/c)(2h + 2h_kv) e / t.
// Backward the gather comes again and a reduce-scatter of as many bytes
// follows; around the ring FP32 gradients go along, 4 bytes more for the 2 of
// e; Ulysses goes back the way it came.
TEST_P(ContextRanks, ExchangeTheBytesOfTheFormulas) {
  const Model model = Preset("llama3_8b");  // h 4096, h_kv 1024
  LayerShape shape{.groups = {{.count = 2, .queries = 4096}},
                   .tensor = 2,
                   .context = 4,
                   .attention = GetParam()};
  const auto context_bytes = [&](auto list) {
    const LayerOps ops = BuildLayer(model, 0, shape);
    int64_t bytes = 0;
    for (const LayerStep& step : ops.*list) {
      const Exchange* e = step.exchange();
      if (e != nullptr && e->group == ExchangeGroup::kContext) {
        bytes += e->bytes.value() * e->steps;
      }
    }
    return bytes;
  };
  const auto forward = &LayerOps::forward;
  const auto backward = &LayerOps::input_gradient;
  shape.context_method = ContextMethod::kAllGather;
  EXPECT_EQ(context_bytes(forward), 2 * 2 * 4096 * 1024 * 2 / 2);
  EXPECT_EQ(context_bytes(backward), 2 * (2 * 2 * 4096 * 1024 * 2 / 2));
  shape.context_method = ContextMethod::kRing;
  EXPECT_EQ(context_bytes(forward), 3 * 2 * 2 * 1024 * 1024 * 2 / 2);
  EXPECT_EQ(context_bytes(backward), 3 * 2 * 2 * 1024 * 1024 * (2 + 4) / 2);
  shape.context_method = ContextMethod::kUlysses;
  EXPECT_EQ(context_bytes(forward), 2 * 1024 * (2 * 4096 + 2 * 1024) * 2 / 2);
  EXPECT_EQ(context_bytes(backward), 2 * 1024 * (2 * 4096 + 2 * 1024) * 2 / 2);
}

INSTANTIATE_TEST_SUITE_P(Kernels, ContextRanks,
                         testing::Values(AttentionKernel::kFlash,
                                         AttentionKernel::kUnfused));

TEST(Layer, AMixtureDispatchesComputesAndCombines) {
  const Model model = MakeModel(kSmallMixture);
  const LayerOps ops = BuildLayer(
      model, 1, {.groups = {{.count = 4, .queries = 32}}, .expert = 4});
  EXPECT_THAT(
      Words(ops.forward),
      ElementsAre("norm", "key_value_down", "query_down", "norm", "norm",
                  "query_up", "key_value_up", "rotary", "attention",
                  "attention_output", "residual", "norm", "router", "top_k",
                  "permute", "all_to_all expert", "shared_up",
                  "shared_activation", "shared_down", "permute", "expert_up",
                  "expert_activation", "expert_down", "unpermute",
                  "all_to_all expert", "unpermute", "residual"));
  // With one expert here there is nothing to sort.
  EXPECT_EQ(OpsNamed(BuildLayer(
                         model, 1,
                         {.groups = {{.count = 4, .queries = 32}}, .expert = 8})
                         .forward,
                     OpName::kPermute)
                .size(),
            1u);
  // T k h e: 128 tokens to 2 experts each, 64 wide, 2 bytes.
  for (const LayerStep& step : ops.forward) {
    if (step.exchange() != nullptr) {
      EXPECT_EQ(step.exchange()->bytes, Bytes(128 * 2 * 64 * 2));
    }
    if (step.op() != nullptr && step.op()->name == OpName::kSharedUp) {
      EXPECT_TRUE(step.beside_exchange);
    }
  }
}

TEST(Layer, ExpertsGetTheirShareOfTokens) {
  const Model model = MakeModel(kSmallMixture);
  const auto expert_up = [&](const LayerShape& shape) {
    const LayerOps ops = BuildLayer(model, 1, shape);
    return std::get<GroupedGemm>(
        OpsNamed(ops.forward, OpName::kExpertUp).at(0).work);
  };
  // 128 tokens x 2 experts on each of 4 ranks; 2 of 8 experts are here.
  LayerShape shape{.groups = {{.count = 4, .queries = 32}}, .expert = 4};
  GroupedGemm balanced = expert_up(shape);
  EXPECT_EQ(balanced.groups, 2);
  EXPECT_EQ(balanced.rows, 128);
  EXPECT_EQ(balanced.hot_rows, 128);
  EXPECT_NEAR(balanced.active, 2, 1e-9);
  // A hot expert with 3 times the mean leaves (8 - 3)/7 of it to the others.
  const auto routing = ExpertRouting::OneHot(8, 3);
  shape.expert_load = routing.LoadOf(0, 4);
  shape.expert_peak = routing.PeakOf(0, 4);
  EXPECT_DOUBLE_EQ(expert_up(shape).hot_rows, 384);
  EXPECT_DOUBLE_EQ(expert_up(shape).rows, 128 * 5.0 / 7);
  // One token, two of eight experts: 8 (1 - 3/4) = 2 of them are active.
  EXPECT_DOUBLE_EQ(expert_up({.groups = {{.queries = 1}}}).active, 2);
}

TEST(Layer, EightBitOperandsAreCastBeforeEveryProduct) {
  const Model model = MakeModel(kSmallDense);
  const LayerOps ops = BuildLayer(
      model, 0, {.groups = {{.queries = 32}}, .precision = DType::kFp8});
  EXPECT_THAT(
      Words(ops.forward),
      ElementsAre("norm", "quantize", "query_key_value", "rotary", "attention",
                  "quantize", "attention_output", "residual", "norm",
                  "quantize", "mlp_up", "mlp_activation", "quantize",
                  "mlp_down", "residual"));
}

// Bytes per layer over those of s b h, Korthikanti et al. (arXiv 2205.05198),
// table 2, times layers and the micro-batches in flight.
struct ActivationCase {
  const char* model;
  int micro_batch;
  double in_flight;  // 1 + (p - 1)/(p v) with interleaving
  double none, sequence_parallel, selective, both, full;
};

class KeptActivations : public testing::TestWithParam<ActivationCase> {};

TEST_P(KeptActivations, AreThePublishedGibibytes) {
  const ActivationCase& c = GetParam();
  const Model model = Preset(c.model);
  LayerShape shape{.groups = {{.count = c.micro_batch, .queries = 2048}},
                   .tensor = 8,
                   .attention = AttentionKernel::kUnfused};
  const auto gib = [&](Bytes per_layer) {
    return static_cast<double>(per_layer.value()) * model.layers() *
           c.in_flight / (1 << 30);
  };
  // The last printed digit of the table.
  constexpr double kPrinted = 0.005;
  const LayerOps tensor = BuildLayer(model, 0, shape);
  EXPECT_NEAR(gib(KeptBytes(tensor, kNoModule)), c.none, kPrinted);
  EXPECT_NEAR(gib(KeptBytes(tensor, Module::kAttentionCore)), c.selective,
              kPrinted);
  EXPECT_NEAR(gib(KeptInputBytes(tensor)), c.full, kPrinted);
  shape.sequence_parallel = true;
  const LayerOps both = BuildLayer(model, 0, shape);
  EXPECT_NEAR(gib(KeptBytes(both, kNoModule)), c.sequence_parallel, kPrinted);
  EXPECT_NEAR(gib(KeptBytes(both, Module::kAttentionCore)), c.both, kPrinted);
}

INSTANTIATE_TEST_SUITE_P(
    Korthikanti, KeptActivations,
    testing::Values(
        ActivationCase{"gpt_22b", 4, 1, 59.25, 39.56, 29.25, 9.5625, 4.50},
        ActivationCase{"gpt3_175b", 1, 1 + 7.0 / 24, 66.84375, 41.41, 37.78,
                       12.3515625, 5.81},
        ActivationCase{"gpt_530b", 1, 1 + 34.0 / 105, 114.0234375, 66.51, 70.59,
                       23.076171875, 10.86},
        ActivationCase{"gpt_1t", 1, 1, 131.25, 76.56, 81.25, 26.5625, 12.50}));

TEST(KeptActivations, OfAGatedBlockAreTwelveHPlusFourKvPlusSixF) {
  const Model model = Preset("llama3_8b");
  const LayerOps ops = BuildLayer(model, 0, {.groups = {{.queries = 1}}});
  // 12 x 4096 + 4 x 1024 + 6 x 14336 bytes per token and layer; log-sum-exp,
  // 4 bytes per head, comes on top.
  EXPECT_EQ(KeptBytes(ops, Module::kAttentionCore), Bytes(139264));
  EXPECT_EQ(KeptBytes(ops, kNoModule), Bytes(139264 + 4 * 32));
  // Without the product: 2f less; without the norms: 4h less.
  EXPECT_EQ(KeptBytes(ops, Module::kAttentionCore | Module::kMlpActivation),
            Bytes(139264 - 2 * 14336));
  EXPECT_EQ(KeptBytes(ops, Module::kAttentionCore | Module::kNorm),
            Bytes(139264 - 4 * 4096));
}

int64_t KeptNamed(const LayerOps& ops, std::string_view name) {
  int64_t bytes = 0;
  for (const KeptTensor& tensor : ops.kept) {
    if (tensor.name == name) bytes += tensor.bytes.value();
  }
  return bytes;
}

// DeepSeek-V3 of one token, arXiv 2412.19437, section 3.3.3: E5M6 after
// attention (1.5 bytes of 128 x 128), SwiGLU inputs in FP8 (2 x 2048 for each
// of 8 experts and the shared one), no output of experts.
TEST(KeptActivations, HaveTheFormatsThatAreAskedFor) {
  const Model model = Preset("deepseek_v3");
  LayerShape shape{.groups = {{.queries = 1}}, .precision = DType::kFp8};
  const LayerOps plain = BuildLayer(model, 10, shape);
  EXPECT_EQ(KeptNamed(plain, "attention_output"), 2 * 16384);
  EXPECT_EQ(KeptNamed(plain, "attention_output_operand"), 16384);
  EXPECT_EQ(KeptNamed(plain, "activation_input"), 2 * 9 * 4096);
  EXPECT_EQ(KeptNamed(plain, "expert_output"), 2 * 8 * 7168);
  shape.kept = {.attention_output = DType::kFp12,
                .activation_input = DType::kFp8};
  shape.routing_weight = RoutingWeight::kOnActivation;
  const LayerOps narrow = BuildLayer(model, 10, shape);
  EXPECT_EQ(KeptNamed(narrow, "attention_output"), 3 * 16384 / 2);
  EXPECT_EQ(KeptNamed(narrow, "attention_output_operand"), 0);
  EXPECT_EQ(KeptNamed(narrow, "activation_input"), 9 * 4096);
  EXPECT_EQ(KeptNamed(narrow, "expert_output"), 0);
  // E5M6 is nobody's operand: it takes a cast of its own.
  const auto casts = [](const LayerOps& ops) {
    return OpsNamed(ops.forward, OpName::kQuantize).size();
  };
  EXPECT_EQ(casts(narrow), casts(plain) + 1);
}

TEST(KeptActivations, OfTheHeadAreFourSBHAndTheLogitsInFp32) {
  // 4 s b h / t (1 + V/h) with s b = 8192, t = 8.
  const Model model = Preset("gpt_22b");
  const LayerOps ops =
      BuildHead(model, {.groups = {{.count = 4, .queries = 2048}},
                        .tensor = 8,
                        .sequence_parallel = true});
  EXPECT_EQ(KeptBytes(ops, kNoModule),
            Bytes(int64_t{4} * 8192 * (6144 + 51200) / 8));
}

// What PyTorch runs apart: 128 tokens, a gated MLP of width w. The function of
// the gate and its product are two kernels that read 3 and write 2 tensors,
// where one reads 2 and writes 1; and the gate's function is kept.
TEST(Layer, EagerKernelsAreMoreAndMoveMore) {
  const Model model = MakeModel(kSmallDense);
  LayerShape shape{.groups = {{.count = 4, .queries = 32}}};
  const LayerOps fused = BuildLayer(model, 0, shape);
  shape.fusion = Fusion::kNone;
  const LayerOps eager = BuildLayer(model, 0, shape);
  EXPECT_GT(CountLaunches(eager.forward), CountLaunches(fused.forward));
  const auto activation = [](const LayerOps& ops) {
    return std::get<Pointwise>(
        OpsNamed(ops.forward, OpName::kMlpActivation).at(0).work);
  };
  if (model.mlp()->gated()) {
    EXPECT_EQ(activation(eager).launches, 2);
    EXPECT_EQ(activation(eager).read.value() * 2,
              activation(fused).read.value() * 3);
    EXPECT_GT(KeptBytes(eager, kNoModule), KeptBytes(fused, kNoModule));
  }
}

// Logits of 16 bits: 2 read and 4 written by a cast, 4 and 4 by the softmax,
// where a fused loss reads 2 and writes 4; 10 bytes are kept instead of 4.
TEST(Layer, ASeparateLossMovesItsLogitsMoreOften) {
  const Model model = MakeModel(kSmallDense);
  LayerShape shape{.groups = {{.count = 4, .queries = 32}}};
  const LayerOps fused = BuildHead(model, shape);
  shape.separate_loss = true;
  const LayerOps separate = BuildHead(model, shape);
  const int64_t logits = int64_t{128} * model.vocabulary();
  EXPECT_EQ(
      (KeptBytes(separate, kNoModule) - KeptBytes(fused, kNoModule)).value(),
      6 * logits);
}

}  // namespace
}  // namespace orrery
