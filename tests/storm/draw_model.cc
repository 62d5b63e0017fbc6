#include "tests/storm/draw_model.h"

#include <string>
#include <vector>

#include "base/check.h"
#include "tests/storm/draw.h"

namespace orrery {
namespace {

pb::Model MadeUpModel(Rng& rng) {
  pb::Model model;
  model.set_name("made_up");
  const int heads = OneOf(rng, {4, 6, 8, 12, 16, 24});
  const int width = OneOf(rng, {64, 80, 128});
  model.set_hidden(heads * width);
  model.set_vocabulary(OneOf(rng, {1000, 32000, 50257, 128256}));
  model.set_tied_embedding(Chance(rng, 0.5));
  pb::Attention& attention = *model.mutable_attention();
  attention.set_heads(heads);
  attention.set_kv_heads(DrawDivisor(rng, heads));
  attention.set_head_dimension(width);
  attention.set_kind(attention.kv_heads() == heads ? pb::Attention::MHA
                     : attention.kv_heads() == 1   ? pb::Attention::MQA
                                                   : pb::Attention::GQA);
  model.mutable_mlp()->set_width(heads * width * OneOf(rng, {2, 3, 4}));
  model.mutable_mlp()->set_activation(
      OneOf(rng, {pb::Mlp::GELU, pb::Mlp::SWIGLU}));
  model.set_norm(OneOf(rng, {pb::Model::LAYER_NORM, pb::Model::RMS_NORM}));
  model.set_norms_per_layer(2);
  model.set_final_norm(true);
  model.set_position(pb::Model::ROTARY);
  if (Chance(rng, 0.3)) model.set_dropout(true);
  if (Chance(rng, 0.4)) {
    pb::MixtureOfExperts& moe = *model.mutable_moe();
    moe.set_experts(OneOf(rng, {4, 6, 8, 12, 16}));
    moe.set_experts_per_token(OneOf(rng, {1, 2, 4}));
    moe.set_expert_width(heads * OneOf(rng, {64, 128}));
    moe.set_activation(pb::Mlp::SWIGLU);
    if (Chance(rng, 0.3)) {
      moe.set_shared_experts(1);
      moe.set_shared_expert_width(moe.expert_width());
    }
    if (Chance(rng, 0.3)) moe.set_first_dense_layers(1);
  }
  return model;
}

}  // namespace

pb::Model DrawModel(const Catalog& catalog, uint64_t seed, int64_t number,
                    Rng& rng) {
  pb::Model model;
  if (Chance(rng, 0.3)) {
    model = MadeUpModel(rng);
  } else {
    model.set_preset(DrawName(seed, "model", number, catalog.Names("models")));
    const auto preset = catalog.Model(model.preset());
    CHECK(preset.ok());
    if (preset->moe().first_dense_layers() > 1) {
      model.mutable_moe()->set_first_dense_layers(1);
    }
  }
  return model;
}

}  // namespace orrery
