#include "catalog/hf_gpt_like.h"

#include <string>

#include "catalog/hf_parts.h"

namespace orrery {
namespace {

// Sizes, heads and norms; the keys' names differ between families.
void ReadCore(HfConfig& config, int layers, int hidden, int heads, bool tied,
              pb::Model& model) {
  model.set_layers(layers);
  model.set_hidden(hidden);
  model.set_vocabulary(config.Count("vocab_size"));
  model.set_tied_embedding(config.FlagOr("tie_word_embeddings", tied));
  SetHeads(heads, heads, PerHead(config, "hidden_size", hidden, heads),
           *model.mutable_attention());
  SetNorms(pb::Model::LAYER_NORM, 2, model);
}

void SetMlp(int width, pb::Mlp::Activation activation, pb::Model& model) {
  model.mutable_mlp()->set_width(width);
  model.mutable_mlp()->set_activation(activation);
}

void SetLearnedPositions(int positions, pb::Model& model) {
  model.set_position(pb::Model::LEARNED);
  model.set_learned_positions(positions);
}

void ReadDropout(HfConfig& config, const char* key, double absent,
                 pb::Model& model) {
  if (config.NumberOr(key, absent) > 0) model.set_dropout(true);
}

// Four times the hidden size, as GPT-2 has it. Sizes that would overflow are
// refused later, like any other.
int FourTimes(HfConfig& config, const char* key, int hidden) {
  constexpr int kLargest = 1 << 28;
  if (hidden > kLargest) {
    config.Refuse(key, "too large");
    return hidden;
  }
  return 4 * hidden;
}

}  // namespace

void ReadBloom(HfConfig& config, pb::Model& model) {
  ReadCore(config, config.Count("n_layer", "num_hidden_layers"),
           config.Count("hidden_size", "n_embed"),
           config.Count("n_head", "num_attention_heads"), /*tied=*/true, model);
  SetMlp(FourTimes(config, "hidden_size", model.hidden()), pb::Mlp::GELU,
         model);
  SetBiases(true, true, model);
  model.set_position(pb::Model::ALIBI);
  model.set_embedding_norm(true);
  ReadDropout(config, "hidden_dropout", 0.0, model);
}

void ReadFalcon(HfConfig& config, pb::Model& model) {
  const int heads = config.Count("num_attention_heads", "n_head");
  ReadCore(config, config.Count("num_hidden_layers", "n_layer"),
           config.Count("hidden_size"), heads, /*tied=*/true, model);
  const bool new_architecture =
      config.FlagOr("new_decoder_architecture", false);
  int kv_heads = heads;
  if (new_architecture) {
    kv_heads = config.CountOr("num_kv_heads", heads, "n_head_kv");
  } else if (config.FlagOr("multi_query", true)) {
    kv_heads = 1;
  }
  SetHeads(heads, kv_heads, model.attention().head_dimension(),
           *model.mutable_attention());
  // The new architecture gives attention and MLP a norm each, unless told not
  // to; the old one shares one in a parallel block.
  const bool parallel =
      new_architecture || config.FlagOr("parallel_attn", true);
  if (parallel) model.set_parallel_block(true);
  const int norms = config.CountOr("num_ln_in_parallel_attn", 2);
  if (parallel && (!new_architecture || norms == 1)) {
    model.set_norms_per_layer(1);
  }
  SetMlp(config.CountOr("ffn_hidden_size",
                        FourTimes(config, "hidden_size", model.hidden())),
         PlainActivation(config, "activation", "gelu"), model);
  const bool bias = config.FlagOr("bias", false);
  SetBiases(bias, bias, model);
  model.set_position(config.FlagOr("alibi", false) ? pb::Model::ALIBI
                                                   : pb::Model::ROTARY);
}

void ReadGpt2(HfConfig& config, pb::Model& model) {
  ReadCore(config, config.Count("n_layer"), config.Count("n_embd"),
           config.Count("n_head"), /*tied=*/true, model);
  SetMlp(config.CountOr("n_inner", FourTimes(config, "n_embd", model.hidden())),
         PlainActivation(config, "activation_function", "gelu_new"), model);
  SetBiases(true, true, model);
  SetLearnedPositions(config.Count("n_positions", "n_ctx"), model);
  ReadDropout(config, "resid_pdrop", 0.1, model);
}

void ReadGptJ(HfConfig& config, pb::Model& model) {
  ReadCore(config, config.Count("n_layer"), config.Count("n_embd"),
           config.Count("n_head"), /*tied=*/false, model);
  SetMlp(config.CountOr("n_inner", FourTimes(config, "n_embd", model.hidden())),
         PlainActivation(config, "activation_function", "gelu_new"), model);
  SetBiases(false, true, model);
  model.set_head_bias(true);
  model.set_norms_per_layer(1);
  model.set_parallel_block(true);
  model.set_position(pb::Model::ROTARY);
  ReadDropout(config, "resid_pdrop", 0.0, model);
}

void ReadGptNeoX(HfConfig& config, pb::Model& model) {
  ReadCore(config, config.Count("num_hidden_layers"),
           config.Count("hidden_size"), config.Count("num_attention_heads"),
           /*tied=*/false, model);
  SetMlp(config.Count("intermediate_size"),
         PlainActivation(config, "hidden_act", "gelu"), model);
  SetBiases(config.FlagOr("attention_bias", true), true, model);
  if (config.FlagOr("use_parallel_residual", true)) {
    model.set_parallel_block(true);
  }
  model.set_position(pb::Model::ROTARY);
  ReadDropout(config, "hidden_dropout", 0.0, model);
}

void ReadOpt(HfConfig& config, pb::Model& model) {
  ReadCore(config, config.Count("num_hidden_layers"),
           config.Count("hidden_size"), config.Count("num_attention_heads"),
           /*tied=*/true, model);
  if (config.CountOr("word_embed_proj_dim", model.hidden()) != model.hidden()) {
    config.Refuse("word_embed_proj_dim",
                  "an embedding narrower than the layers cannot be expressed");
  }
  if (!config.FlagOr("do_layer_norm_before", true)) model.set_final_norm(false);
  SetMlp(config.Count("ffn_dim"),
         PlainActivation(config, "activation_function", "relu"), model);
  const bool bias = config.FlagOr("enable_bias", true);
  SetBiases(bias, bias, model);
  // The table keeps two entries that no token uses.
  constexpr int kLargest = 1 << 28;
  const int positions = config.Count("max_position_embeddings");
  if (positions > kLargest) {
    config.Refuse("max_position_embeddings", "too large");
  } else {
    SetLearnedPositions(positions + 2, model);
  }
  ReadDropout(config, "dropout", 0.1, model);
}

}  // namespace orrery
