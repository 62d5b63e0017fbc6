#include "catalog/layer_split.h"

#include <algorithm>

namespace orrery {
namespace {

double AttentionCost(const pb::Model& model) {
  const pb::Attention& a = model.attention();
  const double hidden = model.hidden();
  const double heads = a.heads();
  if (a.has_kv_rank()) {
    const double key = a.head_dimension() + a.rope_dimension();
    const double query_inputs = a.query_rank() > 0 ? a.query_rank() : hidden;
    return hidden * (a.query_rank() + a.kv_rank() + a.rope_dimension()) +
           heads *
               (query_inputs * key +
                a.kv_rank() * (a.head_dimension() + a.value_head_dimension()) +
                hidden * a.value_head_dimension());
  }
  const double kv_heads = a.has_kv_heads() ? a.kv_heads() : heads;
  return hidden * a.head_dimension() * (2 * heads + 2 * kv_heads);
}

bool IsGated(pb::Mlp::Activation activation) {
  return activation == pb::Mlp::SWIGLU || activation == pb::Mlp::GEGLU;
}

double LayerCost(const pb::Model& model, int layer) {
  const double hidden = model.hidden();
  const pb::MixtureOfExperts& moe = model.moe();
  const int every = std::max(1, moe.every());
  const bool experts = model.has_moe() && layer >= moe.first_dense_layers() &&
                       layer % every == every - 1;
  if (!experts) {
    const double products = IsGated(model.mlp().activation()) ? 3 : 2;
    return AttentionCost(model) + products * hidden * model.mlp().width();
  }
  const double products = IsGated(moe.activation()) ? 3 : 2;
  return AttentionCost(model) +
         products * hidden *
             (1.0 * moe.expert_width() * moe.experts_per_token() +
              1.0 * moe.shared_expert_width() * moe.shared_experts());
}

}  // namespace

std::vector<int> SplitByCost(const pb::Model& model, int stages) {
  const int layers = model.layers();
  double total = static_cast<double>(model.vocabulary()) * model.hidden();
  for (int layer = 0; layer < layers; ++layer) total += LayerCost(model, layer);
  std::vector<int> counts(static_cast<size_t>(stages));
  double cost = 0;
  int stage = 0;
  for (int layer = 0; layer < layers; ++layer) {
    cost += LayerCost(model, layer);
    while (stage + 1 < stages && cost > total * (stage + 1) / stages) ++stage;
    ++counts[static_cast<size_t>(stage)];
  }
  // A stage that a layer skipped takes one of a neighbour's.
  for (size_t i = 0; i + 1 < counts.size(); ++i) {
    if (counts[i] > 0) continue;
    const auto fullest = std::max_element(counts.begin(), counts.end());
    --*fullest;
    ++counts[i];
  }
  return counts;
}

}  // namespace orrery
