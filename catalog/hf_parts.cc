#include "catalog/hf_parts.h"

#include <fmt/format.h>

#include <string>

namespace orrery {

int PerHead(HfConfig& config, const char* key, int numerator, int heads) {
  if (numerator % heads != 0) {
    config.Refuse(key, fmt::format("{} is not a multiple of the {} heads",
                                   numerator, heads));
  }
  return numerator / heads;
}

void SetHeads(int heads, int kv_heads, int head_dimension,
              pb::Attention& attention) {
  attention.set_kind(kv_heads == heads ? pb::Attention::MHA
                     : kv_heads == 1   ? pb::Attention::MQA
                                       : pb::Attention::GQA);
  attention.set_heads(heads);
  if (attention.kind() == pb::Attention::GQA) attention.set_kv_heads(kv_heads);
  attention.set_head_dimension(head_dimension);
}

void SetNorms(pb::Model::Norm norm, int per_layer, pb::Model& model) {
  model.set_norm(norm);
  model.set_norms_per_layer(per_layer);
  model.set_final_norm(true);
}

pb::Mlp::Activation GatedActivation(HfConfig& config, const char* key,
                                    const char* absent) {
  const std::string name = config.TextOr(key, absent);
  if (name == "silu" || name == "swish") return pb::Mlp::SWIGLU;
  if (name.rfind("gelu", 0) == 0) return pb::Mlp::GEGLU;
  config.Refuse(key, fmt::format("'{}' is not known for a gated MLP; known: "
                                 "silu, gelu",
                                 name));
  return pb::Mlp::SWIGLU;
}

pb::Mlp::Activation PlainActivation(HfConfig& config, const char* key,
                                    const char* absent) {
  const std::string name = config.TextOr(key, absent);
  if (name == "relu") return pb::Mlp::RELU;
  if (name == "relu2") return pb::Mlp::SQUARED_RELU;
  if (name == "silu") return pb::Mlp::SILU;
  if (name.rfind("gelu", 0) == 0) return pb::Mlp::GELU;
  config.Refuse(
      key,
      fmt::format("'{}' is not known; known: gelu, relu, relu2, silu", name));
  return pb::Mlp::GELU;
}

void SetBiases(bool attention, bool mlp, pb::Model& model) {
  if (attention) {
    model.mutable_attention()->set_qkv_bias(true);
    model.mutable_attention()->set_output_bias(true);
  }
  if (mlp) model.set_linear_bias(true);
}

}  // namespace orrery
