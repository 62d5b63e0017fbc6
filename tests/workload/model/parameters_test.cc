#include "workload/model/parameters.h"

#include <gtest/gtest.h>

#include "tests/workload/model/models.h"

namespace orrery {
namespace {

// hidden 64, 8 query and 2 key-value heads of 8, MLP 160 gated, 4 layers:
//   embedding 1000 * 64                       =  64 000 (head the same, untied)
//   attention 64*(64 + 16 + 16) + 64*64       =  10 240 a layer
//   mlp       3 * 64 * 160                    =  30 720 a layer
//   norms     2 * 64 a layer and 64 at the end
TEST(Parameters, DenseModelByHand) {
  const Model model = MakeModel(kSmallDense);
  const ParameterCount count = TotalParameters(model);
  EXPECT_EQ(count.embedding, 64'000);
  EXPECT_EQ(count.head, 64'000);
  EXPECT_EQ(count.attention, 4 * 10'240);
  EXPECT_EQ(count.mlp, 4 * 30'720);
  EXPECT_EQ(count.norms, 4 * 128 + 64);
  EXPECT_EQ(count.total(), 128'000 + 4 * (10'240 + 30'720 + 128) + 64);
  EXPECT_EQ(ActiveParameters(model), count) << "every parameter is active";
}

TEST(Parameters, ATiedHeadCountsOnce) {
  const Model model = MakeModel(kSmallDense, "tied_embedding: true");
  EXPECT_EQ(TotalParameters(model).head, 0);
  EXPECT_EQ(TotalParameters(MakeModel(kSmallDense)).total() -
                TotalParameters(model).total(),
            64'000);
}

// A GPT layer has 12 h^2 weights and 13 h biases and norm parameters (Narayanan
// et al., arXiv 2104.04473, equation 2): QKV 3h, output h, MLP 4h + h, norms
// 4h.
TEST(Parameters, GptLayerIsTwelveSquaredPlusThirteen) {
  const Model model = MakeModel(kSmallDense, R"pb(
    attention { kv_heads: 8 qkv_bias: true output_bias: true }
    mlp { width: 256 activation: GELU }
    linear_bias: true
    norm: LAYER_NORM
    position: LEARNED
    learned_positions: 100
  )pb");
  const int64_t h = 64;
  EXPECT_EQ(LayerParameters(model, 0).total(), 12 * h * h + 13 * h);
  EXPECT_EQ(EmbeddingParameters(model).positions, 100 * h);
  EXPECT_EQ(HeadParameters(model).norms, 2 * h);
}

TEST(Parameters, SmallPartsAreCounted) {
  const auto layer = [](const std::string& overrides) {
    return LayerParameters(MakeModel(kSmallDense, overrides), 0).total();
  };
  const int64_t plain = layer("");
  EXPECT_EQ(layer("attention { qk_norm: true }") - plain, 2 * 8);
  EXPECT_EQ(layer("attention { sinks: true }") - plain, 8);
  EXPECT_EQ(layer("attention { qkv_bias: true }") - plain, 64 + 16 + 16);
  EXPECT_EQ(layer("attention { output_bias: true }") - plain, 64);
  EXPECT_EQ(layer("linear_bias: true") - plain, 2 * 160 + 64);
  EXPECT_EQ(layer("norms_per_layer: 4") - plain, 2 * 64);
  EXPECT_EQ(layer("norm: NON_PARAMETRIC") - plain, -2 * 64);
  EXPECT_EQ(layer("norm: LAYER_NORM_NO_BIAS") - plain, 0);
  const Model model =
      MakeModel(kSmallDense, "embedding_norm: true head_bias: true");
  EXPECT_EQ(EmbeddingParameters(model).norms, 64);
  EXPECT_EQ(HeadParameters(model).head, 64'000 + 1000);
}

// hidden 64, 4 heads of 16 + 8 rotary, values 16, ranks 24 and 32:
//   query   24*(64 + 4*24) + 24 norm          = 3 864
//   kv down 64*(32 + 8) + 32 norm             = 2 592
//   kv up   32*4*(16 + 16)                    = 4 096
//   output  4*16*64                           = 4 096
constexpr int64_t kLatentAttention = 3864 + 2592 + 4096 + 4096;
// One expert 3*64*40 = 7 680; router 64*8 + 8 biases.
constexpr int64_t kExpert = 7680;

TEST(Parameters, MixtureByHand) {
  const Model model = MakeModel(kSmallMixture);
  const ParameterCount dense = LayerParameters(model, 0);
  EXPECT_EQ(dense.attention, kLatentAttention);
  EXPECT_EQ(dense.mlp, 30'720);
  EXPECT_EQ(dense.experts, 0);

  const ParameterCount mixture = LayerParameters(model, 1);
  EXPECT_EQ(mixture.mlp, 0);
  EXPECT_EQ(mixture.router, 520);
  EXPECT_EQ(mixture.experts, 8 * kExpert);
  EXPECT_EQ(mixture.shared_experts, kExpert);

  const ParameterCount active = ActiveLayerParameters(model, 1);
  EXPECT_EQ(active.experts, 2 * kExpert);
  EXPECT_EQ(active.shared_experts, kExpert);
  EXPECT_EQ(active.router, 520);
}

// The module's block is a mixture; beside it the projection 2*64*64 and three
// norms. It is in the total and not in the active count.
TEST(Parameters, PredictionModuleByHand) {
  const Model model = MakeModel(kSmallMixture);
  const int64_t block = kLatentAttention + 520 + 9 * kExpert + 2 * 64;
  EXPECT_EQ(MtpModuleParameters(model, 0), block + 8192 + 3 * 64);
  const ParameterCount total = TotalParameters(model);
  EXPECT_EQ(total.mtp, block + 8192 + 3 * 64);
  EXPECT_EQ(total.total(), total.main() + total.mtp);
  EXPECT_EQ(ActiveParameters(model).mtp, 0);
}

TEST(Parameters, AnUncompressedQueryIsOneMatrix) {
  const Model model = MakeModel(kSmallMixture, "attention { query_rank: 0 }");
  EXPECT_EQ(LayerParameters(model, 0).attention,
            kLatentAttention - 3864 + 64 * 4 * 24);
}

TEST(Parameters, ExpertBiasAndSharedGateAreCounted) {
  const Model model = MakeModel(
      kSmallMixture, "moe { expert_bias: true shared_expert_gate: true }");
  const int64_t bias = 2 * 40 + 64;
  EXPECT_EQ(LayerParameters(model, 1).experts, 8 * (kExpert + bias));
  EXPECT_EQ(LayerParameters(model, 1).shared_experts, kExpert + bias + 64);
}

TEST(Parameters, PartsSumToTheWhole) {
  const Model model = MakeModel(kSmallMixture);
  ParameterCount sum = EmbeddingParameters(model);
  for (int i = 0; i < model.layers(); ++i) sum += LayerParameters(model, i);
  sum += HeadParameters(model);
  sum.mtp = MtpModuleParameters(model, 0);
  EXPECT_EQ(sum, TotalParameters(model));
}

}  // namespace
}  // namespace orrery
