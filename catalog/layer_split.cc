#include "catalog/layer_split.h"

#include <algorithm>

namespace orrery {
namespace {

// Whether keys and values count as what they are, or as queries do.
enum class Heads { kOwn, kAsQueries };

double AttentionCost(const pb::Model& model, Heads keys) {
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
  const bool own = keys == Heads::kOwn && a.has_kv_heads();
  const double kv_heads = own ? a.kv_heads() : heads;
  return hidden * a.head_dimension() * (2 * heads + 2 * kv_heads);
}

bool IsGated(pb::Mlp::Activation activation) {
  return activation == pb::Mlp::SWIGLU || activation == pb::Mlp::GEGLU;
}

double LayerCost(const pb::Model& model, int layer, Heads keys) {
  const double hidden = model.hidden();
  const pb::MixtureOfExperts& moe = model.moe();
  const int every = std::max(1, moe.every());
  const bool experts = model.has_moe() && layer >= moe.first_dense_layers() &&
                       layer % every == every - 1;
  if (!experts) {
    const double products = IsGated(model.mlp().activation()) ? 3 : 2;
    return AttentionCost(model, keys) + products * hidden * model.mlp().width();
  }
  const double products = IsGated(moe.activation()) ? 3 : 2;
  return AttentionCost(model, keys) +
         products * hidden *
             (1.0 * moe.expert_width() * moe.experts_per_token() +
              1.0 * moe.shared_expert_width() * moe.shared_experts());
}

double TotalCost(const pb::Model& model, Heads keys) {
  double total = static_cast<double>(model.vocabulary()) * model.hidden();
  for (int layer = 0; layer < model.layers(); ++layer) {
    total += LayerCost(model, layer, keys);
  }
  return total;
}

}  // namespace

std::vector<int> SplitWithinShares(const pb::Model& model, int stages) {
  const double total = TotalCost(model, Heads::kOwn);
  std::vector<int> counts(static_cast<size_t>(stages));
  double cost = 0;
  int stage = 0;
  for (int layer = 0; layer < model.layers(); ++layer) {
    cost += LayerCost(model, layer, Heads::kOwn);
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

std::vector<int> SplitByCost(const pb::Model& model, int stages) {
  const double total = TotalCost(model, Heads::kAsQueries);
  std::vector<int> counts(static_cast<size_t>(stages));
  double cost = 0;
  int stage = 0;
  for (int layer = 0; layer < model.layers(); ++layer) {
    ++counts[static_cast<size_t>(stage)];
    cost += LayerCost(model, layer, Heads::kAsQueries);
    if (stage + 1 < stages && cost >= total * (stage + 1) / stages) ++stage;
  }
  // A stage without one, though not the last, takes that before it.
  for (size_t i = 0; i + 1 < counts.size(); ++i) {
    if (counts[i] > 0) continue;
    size_t before = i;
    while (before > 0 && counts[before] < 2) --before;
    --counts[before];
    ++counts[i];
  }
  return counts;
}

}  // namespace orrery
