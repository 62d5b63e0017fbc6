#pragma once
// Parts of a model that families of Hugging Face configurations share.
#include "catalog/hf_config.h"
#include "proto/model.pb.h"

namespace orrery {

// `numerator` over a number of heads; refuses `key` if that is not whole.
int PerHead(HfConfig& config, const char* key, int numerator, int heads);

// MHA, MQA or GQA, as the numbers of heads say.
void SetHeads(int heads, int kv_heads, int head_dimension,
              pb::Attention& attention);

// The norm, how often it stands in a layer, and once after the last one.
void SetNorms(pb::Model::Norm norm, int per_layer, pb::Model& model);

// Biases on all of attention's projections, on the MLP's.
void SetBiases(bool attention, bool mlp, pb::Model& model);

// The activation named under `key`, for an MLP with or without a gate.
pb::Mlp::Activation GatedActivation(HfConfig& config, const char* key,
                                    const char* absent);
pb::Mlp::Activation PlainActivation(HfConfig& config, const char* key,
                                    const char* absent);

}  // namespace orrery
