#include "workload/model/model_flops.h"

#include <algorithm>

namespace orrery {
namespace {

// Weights one token meets in the linear layers of attention.
double AttentionWeights(const Model& model) {
  const Attention& a = model.attention();
  const double h = model.hidden();
  const auto output = static_cast<double>(a.output_width()) * h;
  if (!a.is_latent()) {
    return h * static_cast<double>(a.query_width() + a.key_width() +
                                   a.value_width()) +
           output;
  }
  const auto query_width = static_cast<double>(a.query_width());
  const double query =
      a.query_rank > 0 ? a.query_rank * (h + query_width) : h * query_width;
  const double key_value = h * (a.kv_rank + a.rope_dimension) +
                           static_cast<double>(a.kv_rank) * a.heads *
                               (a.head_dimension + a.value_head_dimension);
  return query + key_value + output;
}

double MlpWeights(const Model& model, int layer) {
  const double h = model.hidden();
  if (!model.IsMoe(layer)) {
    return h * model.mlp()->width * (model.mlp()->gated() ? 3 : 2);
  }
  const MixtureOfExperts& moe = *model.moe();
  const double matrices = moe.gated() ? 3 : 2;
  return h * moe.experts +
         matrices * h * moe.experts_per_token * moe.expert_width +
         matrices * h * moe.shared_experts * moe.shared_expert_width;
}

// Query-key pairs of one sequence and head.
double Pairs(const Model& model, int layer, int64_t length,
             AttentionCount count) {
  const auto s = static_cast<double>(length);
  const auto window = static_cast<double>(
      std::min<int64_t>(model.Window(layer).value_or(length), length));
  if (count == AttentionCount::kFull) return s * window;
  // Query i sees min(i, window) keys.
  return window * (window + 1) / 2 + (s - window) * window;
}

double LayerFlops(const Model& model, int layer, int64_t length,
                  AttentionCount count) {
  const Attention& a = model.attention();
  const double linear = 2.0 * static_cast<double>(length) *
                        (AttentionWeights(model) + MlpWeights(model, layer));
  const double attention = 2.0 * Pairs(model, layer, length, count) * a.heads *
                           (a.score_head_dimension() + a.value_head_dimension);
  return linear + attention;
}

double HeadFlops(const Model& model, int64_t length) {
  return 2.0 * static_cast<double>(length) * model.hidden() *
         model.vocabulary();
}

double MainFlops(const Model& model, int64_t length, AttentionCount count) {
  double flops = HeadFlops(model, length);
  // Layers of a kind do the same, and mostly follow each other.
  double of_layer = 0;
  for (int layer = 0; layer < model.layers(); ++layer) {
    if (layer == 0 || model.IsMoe(layer) != model.IsMoe(layer - 1) ||
        model.Window(layer) != model.Window(layer - 1)) {
      of_layer = LayerFlops(model, layer, length, count);
    }
    flops += of_layer;
  }
  return flops;
}

}  // namespace

Flops ForwardModelFlops(const Model& model, double sequences, int64_t length,
                        AttentionCount count) {
  return Flops(sequences * MainFlops(model, length, count));
}

Flops TrainingModelFlops(const Model& model, double sequences, int64_t length,
                         AttentionCount count) {
  double forward = MainFlops(model, length, count);
  const double h = model.hidden();
  for (int module = 0; module < model.mtp_modules(); ++module) {
    forward += LayerFlops(model, model.layers() + module, length, count) +
               HeadFlops(model, length) +
               2.0 * static_cast<double>(length) * 2 * h * h;
  }
  return Flops(3.0 * sequences * forward);
}

}  // namespace orrery
