#include "catalog/hf_llama_like.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "catalog/hf_parts.h"

namespace orrery {
namespace {

// What decoders from Llama on share. Families differ in defaults and additions.
struct LlamaLike {
  bool tied = false;
  // Zero: hidden_size over the number of heads.
  int head_dim = 0;
  const char* activation_key = "hidden_act";
  const char* activation = "silu";
};

// Embedding, attention and norms of the Llama kind, without an MLP.
void ReadLlamaCore(HfConfig& config, const LlamaLike& like, pb::Model& model) {
  model.set_layers(config.Count("num_hidden_layers"));
  model.set_hidden(config.Count("hidden_size"));
  model.set_vocabulary(config.Count("vocab_size"));
  model.set_tied_embedding(config.FlagOr("tie_word_embeddings", like.tied));
  SetNorms(pb::Model::RMS_NORM, 2, model);
  model.set_position(pb::Model::ROTARY);
  const int heads = config.Count("num_attention_heads");
  const int kv_heads = config.CountOr("num_key_value_heads", heads);
  int head_dim = config.CountOr("head_dim", like.head_dim);
  if (head_dim == 0) {
    head_dim = PerHead(config, "hidden_size", model.hidden(), heads);
  }
  SetHeads(heads, kv_heads, head_dim, *model.mutable_attention());
}

void ReadLlamaMlp(HfConfig& config, const LlamaLike& like, pb::Model& model) {
  model.mutable_mlp()->set_width(config.Count("intermediate_size"));
  model.mutable_mlp()->set_activation(
      GatedActivation(config, like.activation_key, like.activation));
}

void ReadWindowOfAllLayers(HfConfig& config, pb::Model& model) {
  if (const auto window = config.OptionalCount("sliding_window")) {
    model.mutable_attention()->set_window(*window);
  }
}

// `layer_types` spells the pattern out; without it every `absent_every`-th
// layer is global.
void ReadWindowPattern(HfConfig& config, int window, int absent_every,
                       pb::Model& model) {
  const std::vector<std::string> types = config.Texts("layer_types");
  int every = absent_every;
  if (!types.empty()) {
    if (types.size() != static_cast<size_t>(model.layers())) {
      config.Refuse("layer_types", fmt::format("has {} entries for {} layers",
                                               types.size(), model.layers()));
      return;
    }
    every = 0;
    for (size_t i = 0; i < types.size() && every == 0; ++i) {
      if (types[i] == "full_attention") every = static_cast<int>(i) + 1;
    }
    for (size_t i = 0; i < types.size(); ++i) {
      const bool global =
          every > 0 && (i + 1) % static_cast<size_t>(every) == 0;
      if (types[i] != (global ? "full_attention" : "sliding_attention")) {
        config.Refuse("layer_types",
                      fmt::format("layer {} is '{}'; only a pattern in which "
                                  "every n-th layer is full_attention and the "
                                  "others are sliding_attention is known",
                                  i, types[i].substr(0, 40)));
        return;
      }
    }
    if (every == 1) return;
  }
  model.mutable_attention()->set_window(window);
  if (every > 0) model.mutable_attention()->set_global_every(every);
}

// Qwen windows the layers from max_window_layers on, if at all.
void RefuseQwenWindow(HfConfig& config, const pb::Model& model) {
  if (config.FlagOr("use_sliding_window", false) &&
      config.SizeOr("max_window_layers", 0) < model.layers()) {
    config.Refuse("use_sliding_window",
                  "windows on the last layers only cannot be expressed");
  }
}

void ReadQwen2Core(HfConfig& config, pb::Model& model) {
  ReadLlamaCore(config, {}, model);
  model.mutable_attention()->set_qkv_bias(true);
  RefuseQwenWindow(config, model);
}

void ReadQwen3Core(HfConfig& config, pb::Model& model) {
  ReadLlamaCore(config, {.head_dim = 128}, model);
  model.mutable_attention()->set_qk_norm(true);
  SetBiases(config.FlagOr("attention_bias", false), false, model);
  RefuseQwenWindow(config, model);
}

void ReadQwenMoe(HfConfig& config, pb::Model& model) {
  pb::MixtureOfExperts& moe = *model.mutable_moe();
  moe.set_experts(config.Count("num_experts"));
  moe.set_experts_per_token(config.Count("num_experts_per_tok"));
  moe.set_expert_width(config.Count("moe_intermediate_size"));
  moe.set_activation(GatedActivation(config, "hidden_act", "silu"));
  const int every = config.CountOr("decoder_sparse_step", 1);
  if (every > 1) moe.set_every(every);
  const std::vector<int> dense = config.Integers("mlp_only_layers");
  for (size_t i = 0; i < dense.size(); ++i) {
    if (dense[i] != static_cast<int>(i)) {
      config.Refuse("mlp_only_layers",
                    "only the first layers may be dense, in order");
      break;
    }
  }
  if (!dense.empty()) {
    moe.set_first_dense_layers(static_cast<int>(dense.size()));
  }
  if (every > 1 || !dense.empty()) ReadLlamaMlp(config, {}, model);
}

constexpr LlamaLike kGemma = {.tied = true,
                              .head_dim = 256,
                              .activation_key = "hidden_activation",
                              .activation = "gelu_pytorch_tanh"};

}  // namespace

void ReadLlama(HfConfig& config, pb::Model& model) {
  ReadLlamaCore(config, {}, model);
  ReadLlamaMlp(config, {}, model);
  SetBiases(config.FlagOr("attention_bias", false),
            config.FlagOr("mlp_bias", false), model);
}

void ReadMistral(HfConfig& config, pb::Model& model) {
  ReadLlamaCore(config, {}, model);
  ReadLlamaMlp(config, {}, model);
  ReadWindowOfAllLayers(config, model);
  // The class's default; a file without windows says null.
  if (!config.Mentions("sliding_window")) {
    model.mutable_attention()->set_window(4096);
  }
}

void ReadMixtral(HfConfig& config, pb::Model& model) {
  ReadLlamaCore(config, {}, model);
  ReadWindowOfAllLayers(config, model);
  pb::MixtureOfExperts& moe = *model.mutable_moe();
  moe.set_experts(config.Count("num_local_experts"));
  moe.set_experts_per_token(config.Count("num_experts_per_tok"));
  moe.set_expert_width(config.Count("intermediate_size"));
  moe.set_activation(GatedActivation(config, "hidden_act", "silu"));
}

void ReadQwen2(HfConfig& config, pb::Model& model) {
  ReadQwen2Core(config, model);
  ReadLlamaMlp(config, {}, model);
}

void ReadQwen2Moe(HfConfig& config, pb::Model& model) {
  ReadQwen2Core(config, model);
  ReadQwenMoe(config, model);
  model.mutable_moe()->set_shared_experts(1);
  model.mutable_moe()->set_shared_expert_width(
      config.Count("shared_expert_intermediate_size"));
  model.mutable_moe()->set_shared_expert_gate(true);
}

void ReadQwen3(HfConfig& config, pb::Model& model) {
  ReadQwen3Core(config, model);
  ReadLlamaMlp(config, {}, model);
}

void ReadQwen3Moe(HfConfig& config, pb::Model& model) {
  ReadQwen3Core(config, model);
  ReadQwenMoe(config, model);
}

void ReadDeepSeek(HfConfig& config, pb::Model& model) {
  ReadLlamaCore(config, {.head_dim = 1}, model);
  pb::Attention& attention = *model.mutable_attention();
  attention.set_kind(pb::Attention::MLA);
  attention.clear_kv_heads();
  attention.set_head_dimension(config.Count("qk_nope_head_dim"));
  attention.set_value_head_dimension(config.Count("v_head_dim"));
  if (const auto rank = config.OptionalCount("q_lora_rank")) {
    attention.set_query_rank(*rank);
  }
  attention.set_kv_rank(config.Count("kv_lora_rank"));
  attention.set_rope_dimension(config.Count("qk_rope_head_dim"));
  SetBiases(config.FlagOr("attention_bias", false), false, model);
  ReadLlamaMlp(config, {}, model);

  pb::MixtureOfExperts& moe = *model.mutable_moe();
  moe.set_experts(config.Count("n_routed_experts"));
  moe.set_experts_per_token(config.Count("num_experts_per_tok"));
  moe.set_expert_width(config.Count("moe_intermediate_size"));
  moe.set_activation(model.mlp().activation());
  if (const int shared = config.SizeOr("n_shared_experts", 0); shared > 0) {
    moe.set_shared_experts(shared);
    moe.set_shared_expert_width(moe.expert_width());
  }
  if (const int dense = config.SizeOr("first_k_dense_replace", 0); dense > 0) {
    moe.set_first_dense_layers(dense);
  }
  if (config.CountOr("moe_layer_freq", 1) != 1) {
    config.Refuse("moe_layer_freq", "only 1 is known");
  }
}

// DeepSeek-V3 routes with a bias per expert, to the experts of a few groups; a
// group is the share of one node (arXiv 2412.19437, section 2.1.2).
void ReadDeepSeekV3(HfConfig& config, pb::Model& model) {
  ReadDeepSeek(config, model);
  model.mutable_moe()->set_router_bias(true);
  if (config.CountOr("n_group", 1) > 1) {
    model.mutable_moe()->set_max_nodes_per_token(config.Count("topk_group"));
  }
  if (const int modules = config.SizeOr("num_nextn_predict_layers", 0);
      modules > 0) {
    model.set_mtp_modules(modules);
  }
}

void ReadGptOss(HfConfig& config, pb::Model& model) {
  ReadLlamaCore(config, {.head_dim = 64}, model);
  SetBiases(config.FlagOr("attention_bias", true), false, model);
  model.mutable_attention()->set_sinks(true);
  model.mutable_attention()->set_scaled_rotation(true);
  ReadWindowPattern(config, config.CountOr("sliding_window", 128), 2, model);
  pb::MixtureOfExperts& moe = *model.mutable_moe();
  moe.set_experts(config.Count("num_local_experts"));
  moe.set_experts_per_token(
      config.Count("num_experts_per_tok", "experts_per_token"));
  moe.set_expert_width(config.Count("intermediate_size"));
  moe.set_activation(GatedActivation(config, "hidden_act", "silu"));
  moe.set_router_bias(true);
  moe.set_expert_bias(true);
  moe.set_limited_activation(true);
}

void ReadGemma(HfConfig& config, pb::Model& model) {
  ReadLlamaCore(config, kGemma, model);
  ReadLlamaMlp(config, kGemma, model);
  SetBiases(config.FlagOr("attention_bias", false), false, model);
}

void ReadGemma2(HfConfig& config, pb::Model& model) {
  ReadGemma(config, model);
  model.set_norms_per_layer(4);
  ReadWindowPattern(config, config.CountOr("sliding_window", 4096), 2, model);
}

void ReadGemma3(HfConfig& config, pb::Model& model) {
  // The published files leave out what equals the class's defaults.
  model.set_layers(config.Count("num_hidden_layers"));
  model.set_hidden(config.Count("hidden_size"));
  model.set_vocabulary(config.CountOr("vocab_size", 262'208));
  model.set_tied_embedding(config.FlagOr("tie_word_embeddings", true));
  SetNorms(pb::Model::RMS_NORM, 4, model);
  model.set_position(pb::Model::ROTARY);
  SetHeads(config.CountOr("num_attention_heads", 8),
           config.CountOr("num_key_value_heads", 4),
           config.CountOr("head_dim", 256), *model.mutable_attention());
  model.mutable_attention()->set_qk_norm(true);
  SetBiases(config.FlagOr("attention_bias", false), false, model);
  ReadLlamaMlp(config, kGemma, model);
  ReadWindowPattern(config, config.CountOr("sliding_window", 4096),
                    config.CountOr("sliding_window_pattern", 6), model);
}

void ReadPhi3(HfConfig& config, pb::Model& model) {
  ReadLlamaCore(config, {}, model);
  ReadLlamaMlp(config, {}, model);
  ReadWindowOfAllLayers(config, model);
}

}  // namespace orrery
