#pragma once
// Model: a decoder-only transformer, described by data.
//
// Immutable and valid: whoever holds a Model need not check it again. Sizes are
// bounded so that products of two of them fit an int64_t and the parameter
// count stays below kMaxParameters.
//
//   ASSIGN_OR_RETURN(const Model model, Model::FromProto(proto));
//   for (int layer = 0; layer < model.layers(); ++layer) {
//     if (model.IsMoe(layer)) Use(*model.moe()); else Use(*model.mlp());
//   }
//
// Parameter counts are in parameters.h, cache sizes in kv_cache.h.
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace orrery {
namespace pb {
class Model;
}  // namespace pb

enum class AttentionKind { kMultiHead, kGroupedQuery, kMultiQuery, kLatent };
enum class Norm { kLayerNorm, kRmsNorm, kLayerNormNoBias, kNonParametric };
enum class PositionEncoding { kRotary, kLearned, kAlibi, kNone };
enum class Activation { kGelu, kRelu, kSquaredRelu, kSwiglu, kGeglu, kSilu };

// A gated MLP has three matrices (gate, up, down), a plain one two.
constexpr bool IsGated(Activation activation) {
  return activation == Activation::kSwiglu || activation == Activation::kGeglu;
}

struct Attention {
  AttentionKind kind;
  int heads;
  // Key-value heads in memory and traffic; equal to heads for MHA and MLA
  // (after decompression), 1 for MQA.
  int kv_heads;
  // Width of one query and key head; for MLA of the part without position.
  int head_dimension;
  int value_head_dimension;
  // MLA only, zero otherwise. A query_rank of zero: the query is not
  // compressed.
  int query_rank;
  int kv_rank;
  int rope_dimension;
  bool qkv_bias;
  bool output_bias;
  bool qk_norm;
  bool sinks;
  bool scaled_rotation;
  // Tokens a windowed layer looks back at, if the model has such layers.
  std::optional<int> window;
  // Every n-th layer is global although the model has a window.
  std::optional<int> global_every;

  bool is_latent() const { return kind == AttentionKind::kLatent; }
  // Width of one query or key head as the scores see it.
  int score_head_dimension() const { return head_dimension + rope_dimension; }
  // Widths of all heads together.
  int64_t query_width() const {
    return int64_t{heads} * score_head_dimension();
  }
  int64_t key_width() const {
    return int64_t{kv_heads} * score_head_dimension();
  }
  int64_t value_width() const {
    return int64_t{kv_heads} * value_head_dimension;
  }
  // What the output projection reads.
  int64_t output_width() const { return int64_t{heads} * value_head_dimension; }
  bool operator==(const Attention&) const = default;
};

struct Mlp {
  int width;
  Activation activation;
  bool gated() const { return IsGated(activation); }
  bool operator==(const Mlp&) const = default;
};

struct MixtureOfExperts {
  int experts;
  int experts_per_token;
  int expert_width;
  Activation activation;
  int shared_experts;
  // Zero without shared experts.
  int shared_expert_width;
  int first_dense_layers;
  int every;
  bool router_bias;
  bool expert_bias;
  bool limited_activation;
  bool shared_expert_gate;
  std::optional<int> max_nodes_per_token;
  bool gated() const { return IsGated(activation); }
  bool operator==(const MixtureOfExperts&) const = default;
};

class Model {
 public:
  // A model of 10^15 parameters is a mistake in the input.
  static constexpr double kMaxParameters = 1e15;

  // Every violation at once, each with field path, value, rule and, where there
  // is one, the nearest legal value. `preset` must be resolved before.
  static absl::StatusOr<Model> FromProto(const pb::Model& proto);

  const std::string& name() const { return name_; }
  int layers() const { return layers_; }
  int hidden() const { return hidden_; }
  int vocabulary() const { return vocabulary_; }
  bool tied_embedding() const { return tied_embedding_; }
  const Attention& attention() const { return attention_; }
  // The dense MLP; nothing if every layer is a mixture of experts.
  const std::optional<Mlp>& mlp() const { return mlp_; }
  const std::optional<MixtureOfExperts>& moe() const { return moe_; }
  Norm norm() const { return norm_; }
  int norms_per_layer() const { return norms_per_layer_; }
  bool final_norm() const { return final_norm_; }
  bool embedding_norm() const { return embedding_norm_; }
  PositionEncoding position() const { return position_; }
  // Length of the learned position table; zero for other encodings.
  int learned_positions() const { return learned_positions_; }
  bool parallel_block() const { return parallel_block_; }
  // Bias on the dense MLP's linear layers.
  bool mlp_bias() const { return mlp_bias_; }
  bool head_bias() const { return head_bias_; }
  int mtp_modules() const { return mtp_modules_; }
  bool dropout() const { return dropout_; }

  // Whether `layer` has a mixture of experts instead of the dense MLP. Layers
  // from layers() on are the multi-token-prediction modules' and are like the
  // last one.
  bool IsMoe(int layer) const;
  // Tokens `layer` looks back at; nothing if it sees the whole context.
  std::optional<int> Window(int layer) const;
  int moe_layers() const;
  int dense_layers() const { return layers_ - moe_layers(); }

 private:
  Model() = default;
  friend class ModelReader;

  std::string name_;
  int layers_ = 0;
  int hidden_ = 0;
  int vocabulary_ = 0;
  bool tied_embedding_ = false;
  Attention attention_{};
  std::optional<Mlp> mlp_;
  std::optional<MixtureOfExperts> moe_;
  Norm norm_{};
  int norms_per_layer_ = 0;
  bool final_norm_ = false;
  bool embedding_norm_ = false;
  PositionEncoding position_{};
  int learned_positions_ = 0;
  bool parallel_block_ = false;
  bool mlp_bias_ = false;
  bool head_bias_ = false;
  int mtp_modules_ = 0;
  bool dropout_ = false;
};

}  // namespace orrery
