#include "workload/model/parameters.h"

#include "base/check.h"

namespace orrery {
namespace {

// Parameters of one norm over `width` elements.
int64_t NormParameters(Norm norm, int64_t width) {
  switch (norm) {
    case Norm::kLayerNorm:
      return 2 * width;
    case Norm::kRmsNorm:
    case Norm::kLayerNormNoBias:
      return width;
    case Norm::kNonParametric:
      return 0;
  }
  CHECK(false) << "norm " << static_cast<int>(norm);
  return 0;
}

// Gate, up and down of a gated MLP; up and down of a plain one.
int64_t MlpParameters(int64_t hidden, int64_t width, bool gated, bool bias) {
  const int64_t inner = gated ? 2 * width : width;
  const int64_t weights = hidden * (inner + width);
  return bias ? weights + inner + hidden : weights;
}

// Query down and up (or straight), key-value down with the shared rotary key,
// key-value up, output; norms on both latents (DeepSeek-V2, arXiv 2405.04434,
// section 2.1).
int64_t LatentAttentionParameters(const Model& model) {
  const Attention& a = model.attention();
  const int64_t hidden = model.hidden();
  const int64_t query = a.query_rank > 0
                            ? a.query_rank * (hidden + a.query_width()) +
                                  NormParameters(model.norm(), a.query_rank)
                            : hidden * a.query_width();
  const int64_t kv_down = hidden * (a.kv_rank + a.rope_dimension) +
                          NormParameters(model.norm(), a.kv_rank);
  const int64_t kv_up = int64_t{a.kv_rank} * a.heads *
                        (a.head_dimension + a.value_head_dimension);
  const int64_t bias =
      a.qkv_bias ? a.query_rank + a.kv_rank + a.rope_dimension : 0;
  return query + kv_down + kv_up + bias + a.output_width() * hidden;
}

int64_t AttentionParameters(const Model& model) {
  const Attention& a = model.attention();
  const int64_t hidden = model.hidden();
  int64_t count;
  if (a.is_latent()) {
    count = LatentAttentionParameters(model);
  } else {
    const int64_t qkv = a.query_width() + a.key_width() + a.value_width();
    count = hidden * (qkv + a.output_width()) + (a.qkv_bias ? qkv : 0);
  }
  if (a.output_bias) count += hidden;
  // One vector of weights for all query heads and one for all key heads.
  if (a.qk_norm) {
    count += 2 * NormParameters(model.norm(), a.score_head_dimension());
  }
  if (a.sinks) count += a.heads;
  return count;
}

ParameterCount CountLayer(const Model& model, int layer, bool active) {
  const int64_t hidden = model.hidden();
  ParameterCount count;
  count.attention = AttentionParameters(model);
  count.norms = model.norms_per_layer() * NormParameters(model.norm(), hidden);
  if (!model.IsMoe(layer)) {
    count.mlp = MlpParameters(hidden, model.mlp()->width, model.mlp()->gated(),
                              model.mlp_bias());
    return count;
  }
  const MixtureOfExperts& moe = *model.moe();
  count.router = hidden * moe.experts + (moe.router_bias ? moe.experts : 0);
  const int64_t visited = active ? moe.experts_per_token : moe.experts;
  count.experts = visited * MlpParameters(hidden, moe.expert_width, moe.gated(),
                                          moe.expert_bias);
  count.shared_experts =
      moe.shared_experts * MlpParameters(hidden, moe.shared_expert_width,
                                         moe.gated(), moe.expert_bias) +
      (moe.shared_expert_gate ? hidden : 0);
  return count;
}

ParameterCount Sum(const Model& model, bool active) {
  ParameterCount sum = EmbeddingParameters(model);
  for (int layer = 0; layer < model.layers(); ++layer) {
    sum += CountLayer(model, layer, active);
  }
  sum += HeadParameters(model);
  return sum;
}

}  // namespace

ParameterCount& ParameterCount::operator+=(const ParameterCount& other) {
  embedding += other.embedding;
  positions += other.positions;
  attention += other.attention;
  mlp += other.mlp;
  router += other.router;
  experts += other.experts;
  shared_experts += other.shared_experts;
  norms += other.norms;
  head += other.head;
  mtp += other.mtp;
  return *this;
}

ParameterCount TotalParameters(const Model& model) {
  ParameterCount sum = Sum(model, /*active=*/false);
  for (int module = 0; module < model.mtp_modules(); ++module) {
    sum.mtp += MtpModuleParameters(model, module);
  }
  return sum;
}

ParameterCount ActiveParameters(const Model& model) {
  return Sum(model, /*active=*/true);
}

ParameterCount LayerParameters(const Model& model, int layer) {
  return CountLayer(model, layer, /*active=*/false);
}

ParameterCount ActiveLayerParameters(const Model& model, int layer) {
  return CountLayer(model, layer, /*active=*/true);
}

ParameterCount EmbeddingParameters(const Model& model) {
  const int64_t hidden = model.hidden();
  ParameterCount count;
  count.embedding = hidden * model.vocabulary();
  count.positions = hidden * model.learned_positions();
  if (model.embedding_norm()) {
    count.norms = NormParameters(model.norm(), hidden);
  }
  return count;
}

ParameterCount HeadParameters(const Model& model) {
  const int64_t hidden = model.hidden();
  ParameterCount count;
  if (!model.tied_embedding()) count.head = hidden * model.vocabulary();
  if (model.head_bias()) count.head += model.vocabulary();
  if (model.final_norm()) count.norms = NormParameters(model.norm(), hidden);
  return count;
}

int64_t MtpModuleParameters(const Model& model, int module) {
  CHECK(module >= 0 && module < model.mtp_modules()) << "module " << module;
  const int64_t hidden = model.hidden();
  return LayerParameters(model, model.layers() + module).total() +
         2 * hidden * hidden + 3 * NormParameters(model.norm(), hidden);
}

}  // namespace orrery
