#pragma once
// Parameter counts of a model, from its architecture.
//
// Total: every trained parameter, multi-token-prediction modules included; a
// tied LM head counts once, with the embedding. Publishers quote the main
// model: compare with main().
//
// Active: the parameters one token touches on its way through the main model:
// of the routed experts only those chosen. The whole embedding table counts as
// active, as for Mixtral and Qwen; gpt-oss and DeepSeek leave it out, for those
// subtract `embedding`.
//
// Counts are also given in parts (before, within and after the layers), so that
// a pipeline stage can sum what it holds.
#include <cstdint>

#include "workload/model/model.h"

namespace orrery {

struct ParameterCount {
  int64_t embedding = 0;
  int64_t positions = 0;
  // Projections with their biases, norms inside attention, sinks.
  int64_t attention = 0;
  // The dense MLPs.
  int64_t mlp = 0;
  int64_t router = 0;
  // Routed experts.
  int64_t experts = 0;
  // Shared experts and their gate.
  int64_t shared_experts = 0;
  // Norms around the blocks, after the embedding and before the head.
  int64_t norms = 0;
  // The LM head and its bias; zero weights if tied to the embedding.
  int64_t head = 0;
  // Multi-token-prediction modules, all parts together.
  int64_t mtp = 0;

  // Without the multi-token-prediction modules.
  int64_t main() const {
    return embedding + positions + attention + mlp + router + experts +
           shared_experts + norms + head;
  }
  int64_t total() const { return main() + mtp; }

  ParameterCount& operator+=(const ParameterCount& other);
  bool operator==(const ParameterCount&) const = default;
};

// The whole model.
ParameterCount TotalParameters(const Model& model);
ParameterCount ActiveParameters(const Model& model);

// One layer. Requires: 0 <= layer < layers() + mtp_modules(); a layer of a
// multi-token-prediction module counts its transformer block only.
ParameterCount LayerParameters(const Model& model, int layer);
ParameterCount ActiveLayerParameters(const Model& model, int layer);

// What comes before the first layer: embedding, positions, embedding norm.
ParameterCount EmbeddingParameters(const Model& model);
// What comes after the last layer: final norm and head. With a tied embedding
// the head's weights are those of the embedding and not counted again.
ParameterCount HeadParameters(const Model& model);
// One multi-token-prediction module: two norms, the projection of 2h to h, a
// transformer block and a final norm; embedding and head are the main model's
// (DeepSeek-V3 report, arXiv 2412.19437, section 2.2).
int64_t MtpModuleParameters(const Model& model, int module);

}  // namespace orrery
