#include "workload/model/model_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "proto/enum_names.h"

namespace orrery {
namespace {

// Far above anything that will be built, low enough that the product of any
// two sizes fits an int64_t and heads times head width fits an int.
constexpr int kMaxLayers = 10'000;
constexpr int kMaxHidden = 1 << 20;
constexpr int kMaxVocabulary = 1 << 24;
constexpr int kMaxHeads = 1 << 14;
constexpr int kMaxHeadDimension = 1 << 14;
constexpr int kMaxWidth = 1 << 24;
constexpr int kMaxExperts = 1 << 16;
constexpr int kMaxTokens = 1 << 30;
constexpr int kMaxNormsPerLayer = 8;
constexpr int kMaxMtpModules = 64;

// The field as an optional, by its presence.
#define FIELD(message, name) \
  ((message).has_##name() ? std::optional<int>((message).name()) : std::nullopt)

// The divisor of `n` nearest to `wanted`; the smaller of two.
int NearestDivisor(int n, int wanted) {
  int best = 1;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    for (const int divisor : {static_cast<int>(d), n / static_cast<int>(d)}) {
      const int distance = std::abs(divisor - wanted);
      const int best_distance = std::abs(best - wanted);
      if (distance < best_distance ||
          (distance == best_distance && divisor < best)) {
        best = divisor;
      }
    }
  }
  return best;
}

template <class Enum>
std::string MustBeOneOf(const std::string& path) {
  return fmt::format("{}: not set; write one of {}", path, EnumNames<Enum>());
}

}  // namespace

absl::StatusOr<Model> ModelReader::Read() {
  Model model;
  model.name_ = proto_.name();
  if (proto_.name().empty())
    violations_.Add("model.name: not set; write name: \"mine\"");
  model.layers_ = Within("model.layers", FIELD(proto_, layers), 1, kMaxLayers);
  model.hidden_ = Within("model.hidden", FIELD(proto_, hidden), 1, kMaxHidden);
  model.vocabulary_ =
      Within("model.vocabulary", FIELD(proto_, vocabulary), 1, kMaxVocabulary);
  model.tied_embedding_ = proto_.tied_embedding();
  if (proto_.has_attention()) {
    model.attention_ = ReadAttention(proto_.attention());
  } else {
    violations_.Add(
        "model.attention: not set; write attention { kind: GQA heads: 32 "
        "kv_heads: 8 head_dimension: 128 }, or what the model has");
  }
  if (proto_.has_mlp()) model.mlp_ = ReadMlp(proto_.mlp());
  if (proto_.has_moe()) model.moe_ = ReadMoe(proto_.moe());
  model.norm_ = ReadNorm();
  model.norms_per_layer_ =
      Within("model.norms_per_layer", FIELD(proto_, norms_per_layer), 0,
             kMaxNormsPerLayer);
  // Hardly any model lacks it: "false" is for its author to say.
  if (!proto_.has_final_norm()) {
    violations_.Add(
        "model.final_norm: not set; write true if a norm follows the last "
        "layer, else false");
  }
  model.final_norm_ = proto_.final_norm();
  model.embedding_norm_ = proto_.embedding_norm();
  model.position_ = ReadPosition();
  if (model.position_ != PositionEncoding::kRotary) {
    Unused("model.attention.scaled_rotation",
           proto_.attention().scaled_rotation(),
           "only position ROTARY rotates");
  }
  if (model.position_ == PositionEncoding::kLearned) {
    model.learned_positions_ =
        Within("model.learned_positions", FIELD(proto_, learned_positions), 1,
               kMaxTokens);
  } else {
    Unused("model.learned_positions", proto_.has_learned_positions(),
           "only position LEARNED has a table");
  }
  model.parallel_block_ = proto_.parallel_block();
  const int fewest = model.parallel_block_ ? 1 : 2;
  if (proto_.has_norms_per_layer() && model.norms_per_layer_ != fewest &&
      model.norms_per_layer_ != 2 * fewest) {
    violations_.Add(fmt::format(
        "model.norms_per_layer: must be {} or {}, got {}; {}", fewest,
        2 * fewest, model.norms_per_layer_,
        model.parallel_block_
            ? "a parallel block has one for attention and MLP together, or one "
              "for each"
            : "attention and MLP have one each before them, or one before and "
              "one after (1 is of models with parallel_block: true)"));
  }
  model.mlp_bias_ = proto_.linear_bias();
  model.head_bias_ = proto_.head_bias();
  model.mtp_modules_ =
      Within("model.mtp_modules", proto_.mtp_modules(), 0, kMaxMtpModules);
  model.dropout_ = proto_.dropout();

  // The questions about the pattern of layers need legal fields.
  if (!violations_.empty()) return violations_.ToStatus();
  const int moe_layers = model.moe_layers();
  if (!model.mlp_ && moe_layers < model.layers_) {
    violations_.Add(
        fmt::format("model.mlp: not set; {} of {} layers have the dense MLP: "
                    "write mlp {{ width: ... activation: ... }}",
                    model.layers_ - moe_layers, model.layers_));
  }
  if (model.moe_ && moe_layers == 0) {
    violations_.Add(fmt::format(
        "model.moe: no layer of {} is a mixture of experts with "
        "first_dense_layers {} and every {}; remove moe or lower them",
        model.layers_, model.moe_->first_dense_layers, model.moe_->every));
  }
  CheckSize(model);
  if (!violations_.empty()) return violations_.ToStatus();
  return model;
}

Attention ModelReader::ReadAttention(const pb::Attention& proto) {
  Attention attention{};
  attention.heads =
      Within("model.attention.heads", FIELD(proto, heads), 1, kMaxHeads);
  attention.head_dimension =
      Within("model.attention.head_dimension", FIELD(proto, head_dimension), 1,
             kMaxHeadDimension);
  attention.value_head_dimension = attention.head_dimension;
  if (proto.has_value_head_dimension()) {
    attention.value_head_dimension =
        Within("model.attention.value_head_dimension",
               proto.value_head_dimension(), 1, kMaxHeadDimension);
  }
  switch (proto.kind()) {
    case pb::Attention::KIND_UNSPECIFIED:
      violations_.Add(MustBeOneOf<pb::Attention::Kind>("model.attention.kind"));
      return attention;
    case pb::Attention::MHA:
      attention.kind = AttentionKind::kMultiHead;
      break;
    case pb::Attention::GQA:
      attention.kind = AttentionKind::kGroupedQuery;
      break;
    case pb::Attention::MQA:
      attention.kind = AttentionKind::kMultiQuery;
      break;
    case pb::Attention::MLA:
      attention.kind = AttentionKind::kLatent;
      break;
  }
  ReadKvHeads(proto, attention);
  ReadLatent(proto, attention);
  ReadWindow(proto, attention);
  attention.qkv_bias = proto.qkv_bias();
  attention.output_bias = proto.output_bias();
  attention.qk_norm = proto.qk_norm();
  attention.sinks = proto.sinks();
  attention.scaled_rotation = proto.scaled_rotation();
  return attention;
}

void ModelReader::ReadKvHeads(const pb::Attention& proto,
                              Attention& attention) {
  const std::string path = "model.attention.kv_heads";
  const auto must_equal = [&](int legal, const char* kind) {
    attention.kv_heads = legal;
    if (proto.has_kv_heads() && proto.kv_heads() != legal) {
      violations_.Add(fmt::format("{}: {} must be {} for {}, or set kind GQA",
                                  path, proto.kv_heads(), legal, kind));
    }
  };
  switch (attention.kind) {
    case AttentionKind::kMultiHead:
      return must_equal(attention.heads, "MHA");
    case AttentionKind::kMultiQuery:
      return must_equal(1, "MQA");
    case AttentionKind::kLatent:
      // The latent serves all heads; the schema says the field is not used.
      attention.kv_heads = attention.heads;
      return;
    case AttentionKind::kGroupedQuery:
      break;
  }
  attention.kv_heads = Within(path, FIELD(proto, kv_heads), 1, kMaxHeads);
  if (attention.heads % attention.kv_heads != 0) {
    violations_.Add(fmt::format(
        "{}: {} must divide model.attention.heads ({}); nearest legal value {}",
        path, attention.kv_heads, attention.heads,
        NearestDivisor(attention.heads, attention.kv_heads)));
  }
}

void ModelReader::ReadLatent(const pb::Attention& proto, Attention& attention) {
  if (!attention.is_latent()) {
    const std::string reason = "only kind MLA has it";
    Unused("model.attention.query_rank", proto.has_query_rank(), reason);
    Unused("model.attention.kv_rank", proto.has_kv_rank(), reason);
    Unused("model.attention.rope_dimension", proto.has_rope_dimension(),
           reason);
    return;
  }
  attention.query_rank =
      Within("model.attention.query_rank", proto.query_rank(), 0, kMaxWidth);
  attention.kv_rank =
      Within("model.attention.kv_rank", FIELD(proto, kv_rank), 1, kMaxWidth);
  attention.rope_dimension =
      Within("model.attention.rope_dimension", FIELD(proto, rope_dimension), 0,
             kMaxHeadDimension);
}

void ModelReader::ReadWindow(const pb::Attention& proto, Attention& attention) {
  if (proto.has_window()) {
    attention.window =
        Within("model.attention.window", proto.window(), 1, kMaxTokens);
  }
  if (!proto.has_global_every()) return;
  if (!proto.has_window()) {
    Unused("model.attention.global_every", true,
           "without model.attention.window every layer is global");
    return;
  }
  attention.global_every = Within("model.attention.global_every",
                                  proto.global_every(), 1, kMaxLayers);
}

Mlp ModelReader::ReadMlp(const pb::Mlp& proto) {
  return Mlp{
      .width = Within("model.mlp.width", FIELD(proto, width), 1, kMaxWidth),
      .activation = ReadActivation("model.mlp.activation", proto.activation())};
}

MixtureOfExperts ModelReader::ReadMoe(const pb::MixtureOfExperts& proto) {
  MixtureOfExperts moe{};
  moe.experts =
      Within("model.moe.experts", FIELD(proto, experts), 1, kMaxExperts);
  moe.experts_per_token =
      Within("model.moe.experts_per_token", FIELD(proto, experts_per_token), 1,
             moe.experts);
  moe.expert_width = Within("model.moe.expert_width",
                            FIELD(proto, expert_width), 1, kMaxWidth);
  moe.activation = ReadActivation("model.moe.activation", proto.activation());
  moe.shared_experts = Within("model.moe.shared_experts",
                              proto.shared_experts(), 0, kMaxExperts);
  if (moe.shared_experts > 0) {
    moe.shared_expert_width =
        Within("model.moe.shared_expert_width",
               FIELD(proto, shared_expert_width), 1, kMaxWidth);
  } else {
    const std::string reason = "model.moe.shared_experts is 0";
    Unused("model.moe.shared_expert_width", proto.shared_expert_width() != 0,
           reason);
    Unused("model.moe.shared_expert_gate", proto.shared_expert_gate(), reason);
  }
  moe.first_dense_layers = Within("model.moe.first_dense_layers",
                                  proto.first_dense_layers(), 0, kMaxLayers);
  moe.every = Within("model.moe.every", proto.has_every() ? proto.every() : 1,
                     1, kMaxLayers);
  moe.router_bias = proto.router_bias();
  moe.expert_bias = proto.expert_bias();
  moe.limited_activation = proto.limited_activation();
  if (!moe.gated()) {
    Unused("model.moe.limited_activation", proto.limited_activation(),
           "only a gated activation is limited");
  }
  moe.shared_expert_gate = proto.shared_expert_gate();
  if (proto.has_max_nodes_per_token()) {
    moe.max_nodes_per_token =
        Within("model.moe.max_nodes_per_token", proto.max_nodes_per_token(), 1,
               kMaxExperts);
  }
  return moe;
}

Activation ModelReader::ReadActivation(const std::string& path, int value) {
  switch (static_cast<pb::Mlp::Activation>(value)) {
    case pb::Mlp::GELU:
      return Activation::kGelu;
    case pb::Mlp::RELU:
      return Activation::kRelu;
    case pb::Mlp::SQUARED_RELU:
      return Activation::kSquaredRelu;
    case pb::Mlp::SWIGLU:
      return Activation::kSwiglu;
    case pb::Mlp::GEGLU:
      return Activation::kGeglu;
    case pb::Mlp::SILU:
      return Activation::kSilu;
    case pb::Mlp::ACTIVATION_UNSPECIFIED:
      break;
  }
  violations_.Add(MustBeOneOf<pb::Mlp::Activation>(path));
  return Activation::kGelu;
}

Norm ModelReader::ReadNorm() {
  switch (proto_.norm()) {
    case pb::Model::LAYER_NORM:
      return Norm::kLayerNorm;
    case pb::Model::RMS_NORM:
      return Norm::kRmsNorm;
    case pb::Model::LAYER_NORM_NO_BIAS:
      return Norm::kLayerNormNoBias;
    case pb::Model::NON_PARAMETRIC:
      return Norm::kNonParametric;
    case pb::Model::NORM_UNSPECIFIED:
      break;
  }
  violations_.Add(MustBeOneOf<pb::Model::Norm>("model.norm"));
  return Norm::kLayerNorm;
}

PositionEncoding ModelReader::ReadPosition() {
  switch (proto_.position()) {
    case pb::Model::ROTARY:
      return PositionEncoding::kRotary;
    case pb::Model::LEARNED:
      return PositionEncoding::kLearned;
    case pb::Model::ALIBI:
      return PositionEncoding::kAlibi;
    case pb::Model::NO_POSITION:
      return PositionEncoding::kNone;
    case pb::Model::POSITION_UNSPECIFIED:
      break;
  }
  violations_.Add(MustBeOneOf<pb::Model::PositionEncoding>("model.position"));
  return PositionEncoding::kNone;
}

int ModelReader::Within(const std::string& path, std::optional<int> value,
                        int low, int high) {
  if (!value) {
    violations_.Add(fmt::format(
        "{}: not set; write a whole number from {} to {}", path, low, high));
    return low;
  }
  const int nearest = std::clamp(*value, low, high);
  if (nearest != *value) {
    violations_.Add(
        fmt::format("{}: {} must be in [{}, {}]; nearest legal value {}", path,
                    *value, low, high, nearest));
  }
  return nearest;
}

void ModelReader::Unused(const std::string& path, bool set,
                         const std::string& reason) {
  if (set) {
    violations_.Add(fmt::format("{}: must not be set: {}", path, reason));
  }
}

void ModelReader::CheckSize(const Model& model) {
  // The matrices that can be large, in floating point so that nothing
  // overflows. Low-rank factors, biases and norms are small beside them.
  const double hidden = model.hidden();
  const Attention& attention = model.attention();
  double per_layer =
      hidden * static_cast<double>(
                   attention.query_width() + attention.key_width() +
                   attention.value_width() + attention.output_width()) +
      static_cast<double>(attention.query_rank + attention.kv_rank) *
          static_cast<double>(attention.query_width() +
                              attention.value_width());
  if (model.mlp()) per_layer += 3.0 * hidden * model.mlp()->width;
  if (model.moe()) {
    const MixtureOfExperts& moe = *model.moe();
    per_layer += 3.0 * hidden *
                 (1.0 * moe.experts * moe.expert_width +
                  1.0 * moe.shared_experts * moe.shared_expert_width);
  }
  const double total =
      per_layer * (model.layers() + model.mtp_modules()) +
      hidden * (2.0 * model.vocabulary() + model.learned_positions());
  if (total > Model::kMaxParameters) {
    violations_.Add(fmt::format(
        "model: about {:.3g} parameters; must be at most {:.3g}: check layers, "
        "hidden, widths and experts",
        total, Model::kMaxParameters));
  }
}

}  // namespace orrery
