#include "workload/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/status_matchers.h"
#include "tests/workload/model/models.h"

namespace orrery {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

absl::Status Verdict(const pb::Model& proto) {
  return Model::FromProto(proto).status();
}

TEST(Model, HoldsWhatTheTextSays) {
  const Model model = MakeModel(kSmallMixture, R"pb(
    tied_embedding: true
    parallel_block: true
    linear_bias: true
    head_bias: true
    embedding_norm: true
    dropout: true
    attention { sinks: true qk_norm: true output_bias: true }
    moe { max_nodes_per_token: 4 expert_bias: true shared_expert_gate: true }
  )pb");
  EXPECT_EQ(model.name(), "small_mixture");
  EXPECT_EQ(model.layers(), 4);
  EXPECT_EQ(model.hidden(), 64);
  EXPECT_EQ(model.vocabulary(), 1000);
  EXPECT_EQ(model.norm(), Norm::kRmsNorm);
  EXPECT_EQ(model.norms_per_layer(), 2);
  EXPECT_EQ(model.position(), PositionEncoding::kRotary);
  EXPECT_TRUE(model.tied_embedding());
  EXPECT_TRUE(model.parallel_block());
  EXPECT_TRUE(model.mlp_bias());
  EXPECT_TRUE(model.head_bias());
  EXPECT_TRUE(model.embedding_norm());
  EXPECT_TRUE(model.final_norm());
  EXPECT_TRUE(model.dropout());
  EXPECT_EQ(model.mtp_modules(), 1);

  const Attention& attention = model.attention();
  EXPECT_TRUE(attention.is_latent());
  EXPECT_EQ(attention.query_rank, 24);
  EXPECT_EQ(attention.kv_rank, 32);
  EXPECT_EQ(attention.score_head_dimension(), 16 + 8);
  EXPECT_EQ(attention.query_width(), 4 * (16 + 8));
  EXPECT_EQ(attention.output_width(), 4 * 16);
  EXPECT_TRUE(attention.sinks && attention.qk_norm && attention.output_bias);
  EXPECT_FALSE(attention.qkv_bias);

  EXPECT_EQ(model.mlp()->width, 160);
  EXPECT_TRUE(model.mlp()->gated());
  EXPECT_EQ(model.moe()->experts, 8);
  EXPECT_EQ(model.moe()->experts_per_token, 2);
  EXPECT_EQ(model.moe()->max_nodes_per_token, 4);
  EXPECT_TRUE(model.moe()->expert_bias && model.moe()->shared_expert_gate);
}

TEST(Model, GatedActivationsAreSwigluAndGeglu) {
  EXPECT_TRUE(IsGated(Activation::kSwiglu));
  EXPECT_TRUE(IsGated(Activation::kGeglu));
  for (const Activation plain : {Activation::kGelu, Activation::kRelu,
                                 Activation::kSquaredRelu, Activation::kSilu}) {
    EXPECT_FALSE(IsGated(plain));
  }
}

TEST(Model, KeyValueHeadsFollowFromTheKind) {
  const auto heads = [](const std::string& attention) {
    pb::Model proto = ModelProto(kSmallDense);
    proto.clear_attention();
    proto.MergeFrom(ModelProto("", "attention {" + attention + "}"));
    return Model::FromProto(proto)->attention().kv_heads;
  };
  EXPECT_EQ(heads("kind: MHA heads: 8 head_dimension: 8"), 8);
  EXPECT_EQ(heads("kind: MQA heads: 8 head_dimension: 8"), 1);
  EXPECT_EQ(heads("kind: GQA heads: 8 kv_heads: 4 head_dimension: 8"), 4);
}

std::vector<bool> MoePattern(const Model& model) {
  std::vector<bool> pattern;
  for (int i = 0; i < model.layers(); ++i) pattern.push_back(model.IsMoe(i));
  return pattern;
}

TEST(Model, FirstLayersAreDenseThenMixtures) {
  const Model model = MakeModel(kSmallMixture);
  EXPECT_THAT(MoePattern(model), ElementsAre(false, true, true, true));
  EXPECT_EQ(model.moe_layers(), 3);
  EXPECT_EQ(model.dense_layers(), 1);
  EXPECT_TRUE(model.IsMoe(4)) << "the prediction module is like the last layer";
}

TEST(Model, EveryOtherLayerIsAMixture) {
  const Model model =
      MakeModel(kSmallMixture, "moe { first_dense_layers: 0 every: 2 }");
  EXPECT_THAT(MoePattern(model), ElementsAre(false, true, false, true));
}

TEST(Model, WithoutAMixtureNoLayerIsOne) {
  EXPECT_EQ(MakeModel(kSmallDense).moe_layers(), 0);
}

// Five local layers for each global one, as in Gemma 3.
TEST(Model, EverySixthLayerSeesTheWholeContext) {
  const Model model = MakeModel(
      kSmallDense, "layers: 12 attention { window: 512 global_every: 6 }");
  for (int layer = 0; layer < 12; ++layer) {
    if (layer == 5 || layer == 11) {
      EXPECT_EQ(model.Window(layer), std::nullopt) << layer;
    } else {
      EXPECT_EQ(model.Window(layer), 512) << layer;
    }
  }
}

TEST(Model, AWindowAloneHoldsForEveryLayer) {
  const Model model = MakeModel(kSmallDense, "attention { window: 4096 }");
  EXPECT_EQ(model.Window(0), 4096);
  EXPECT_EQ(model.Window(3), 4096);
  EXPECT_EQ(MakeModel(kSmallDense).Window(0), std::nullopt);
}

TEST(Model, AnEmptyMessageListsAllThatIsMissing) {
  EXPECT_THAT(
      Verdict(pb::Model()),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("model.name: not set"),
                     HasSubstr("model.layers: not set; write a whole number "
                               "from 1 to 10000"),
                     HasSubstr("model.hidden: not set"),
                     HasSubstr("model.vocabulary: not set"),
                     HasSubstr("model.attention: not set"),
                     HasSubstr("model.norm: not set; write one of LAYER_NORM, "
                               "RMS_NORM, LAYER_NORM_NO_BIAS, NON_PARAMETRIC"),
                     HasSubstr("model.norms_per_layer: not set"),
                     HasSubstr("model.position: not set; write one of ROTARY, "
                               "LEARNED, ALIBI, NO_POSITION"))));
}

TEST(Model, ReportsEveryViolationWithValueRuleAndNearestLegalValue) {
  const absl::Status verdict = Verdict(ModelProto(kSmallMixture, R"pb(
    layers: -3
    hidden: 2000000
    attention { heads: 0 kv_rank: 0 }
    moe { experts_per_token: 9 shared_expert_width: -1 }
    learned_positions: 2048
  )pb"));
  EXPECT_EQ(
      std::string(verdict.message()),
      "model.layers: -3 must be in [1, 10000]; nearest legal value 1\n"
      "model.hidden: 2000000 must be in [1, 1048576]; nearest legal value "
      "1048576\n"
      "model.attention.heads: 0 must be in [1, 16384]; nearest legal value 1\n"
      "model.attention.kv_rank: 0 must be in [1, 16777216]; nearest legal "
      "value 1\n"
      "model.moe.experts_per_token: 9 must be in [1, 8]; nearest legal value "
      "8\n"
      "model.moe.shared_expert_width: -1 must be in [1, 16777216]; nearest "
      "legal value 1\n"
      "model.learned_positions: must not be set: only position LEARNED has a "
      "table");
}

// A block has a norm for attention and one for the MLP, or two for each; a
// parallel block one for both, or two.
TEST(Model, HasAsManyNormsAsAreModelled) {
  const auto norms = [](bool parallel, int count) {
    pb::Model proto = ModelProto(kSmallMixture, "");
    proto.set_parallel_block(parallel);
    proto.set_norms_per_layer(count);
    return Verdict(proto);
  };
  for (const int count : {2, 4}) EXPECT_OK(norms(false, count));
  for (const int count : {1, 2}) EXPECT_OK(norms(true, count));
  for (const int count : {0, 1, 3, 5, 8}) {
    EXPECT_THAT(norms(false, count),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr("model.norms_per_layer: must be 2 or 4")));
  }
  for (const int count : {0, 3, 4}) {
    EXPECT_THAT(norms(true, count),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr("model.norms_per_layer: must be 1 or 2")));
  }
}

TEST(Model, UnspecifiedEnumsAreRefusedWithTheLegalNames) {
  EXPECT_THAT(
      Verdict(ModelProto(kSmallDense,
                         "attention { kind: KIND_UNSPECIFIED } "
                         "mlp { activation: ACTIVATION_UNSPECIFIED }")),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("model.attention.kind: not set; write one "
                               "of MHA, GQA, MQA, MLA"),
                     HasSubstr("model.mlp.activation: not set; write one "
                               "of GELU, RELU, SQUARED_RELU, SWIGLU, GEGLU, "
                               "SILU"))));
}

TEST(Model, KeyValueHeadsMustDivideTheHeads) {
  EXPECT_THAT(Verdict(ModelProto(kSmallDense, "attention { kv_heads: 3 }")),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("model.attention.kv_heads: 3 must divide "
                                 "model.attention.heads (8); nearest legal "
                                 "value 2")));
  EXPECT_THAT(Verdict(ModelProto(kSmallDense, "attention { kind: MHA }")),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("kv_heads: 2 must be 8 for MHA")));
  EXPECT_THAT(Verdict(ModelProto(kSmallDense, "attention { kind: MQA }")),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("kv_heads: 2 must be 1 for MQA")));
}

TEST(Model, FieldsThatMeanNothingAreRefused) {
  EXPECT_THAT(
      Verdict(ModelProto(kSmallDense,
                         "attention { kv_rank: 512 global_every: 2 }")),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("model.attention.kv_rank: must not be set"),
                     HasSubstr("model.attention.global_every: must not be "
                               "set"))));
}

TEST(Model, DenseLayersNeedTheDenseMlp) {
  pb::Model proto = ModelProto(kSmallMixture);
  proto.clear_mlp();
  EXPECT_THAT(Verdict(proto),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("model.mlp: not set; 1 of 4 layers")));
  proto.mutable_moe()->set_first_dense_layers(0);
  EXPECT_OK(Verdict(proto));
}

TEST(Model, AMixtureThatNoLayerUsesIsRefused) {
  EXPECT_THAT(
      Verdict(ModelProto(kSmallMixture, "moe { first_dense_layers: 4 }")),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("model.moe: no layer of 4 is a mixture")));
}

// 10^4 layers of 2^16 experts with matrices of 2^20 by 2^24 would be about
// 10^22 parameters, more than an int64_t can count.
TEST(Model, AbsurdSizesAreRefusedBeforeTheyOverflow) {
  EXPECT_THAT(Verdict(ModelProto(kSmallMixture, R"pb(
                layers: 10000
                hidden: 1048576
                moe { experts: 65536 expert_width: 16777216 }
              )pb")),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("parameters; must be at most 1e+15")));
}

}  // namespace
}  // namespace orrery
