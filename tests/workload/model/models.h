#pragma once
// Models the workload tests start from, as textproto and as values.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/check.h"
#include "proto/model.pb.h"
#include "workload/model/model.h"

namespace orrery {

// A small dense model with grouped queries and a gated MLP.
inline constexpr char kSmallDense[] = R"pb(
  name: "small_dense"
  layers: 4
  hidden: 64
  vocabulary: 1000
  attention { kind: GQA heads: 8 kv_heads: 2 head_dimension: 8 }
  mlp { width: 160 activation: SWIGLU }
  norm: RMS_NORM
  norms_per_layer: 2
  final_norm: true
  position: ROTARY
)pb";

// A small mixture with latent attention: one dense layer, then three mixtures,
// and a multi-token-prediction module.
inline constexpr char kSmallMixture[] = R"pb(
  name: "small_mixture"
  layers: 4
  hidden: 64
  vocabulary: 1000
  attention {
    kind: MLA
    heads: 4
    head_dimension: 16
    value_head_dimension: 16
    query_rank: 24
    kv_rank: 32
    rope_dimension: 8
  }
  mlp { width: 160 activation: SWIGLU }
  moe {
    experts: 8
    experts_per_token: 2
    expert_width: 40
    activation: SWIGLU
    shared_experts: 1
    shared_expert_width: 40
    first_dense_layers: 1
    router_bias: true
  }
  norm: RMS_NORM
  norms_per_layer: 2
  final_norm: true
  position: ROTARY
  mtp_modules: 1
)pb";

inline pb::Model ModelProto(const std::string& base,
                            const std::string& overrides = "") {
  pb::Model proto;
  CHECK(google::protobuf::TextFormat::ParseFromString(base, &proto)) << base;
  google::protobuf::TextFormat::Parser parser;
  pb::Model changes;
  CHECK(parser.ParseFromString(overrides, &changes)) << overrides;
  proto.MergeFrom(changes);
  return proto;
}

inline Model MakeModel(const std::string& base,
                       const std::string& overrides = "") {
  auto model = Model::FromProto(ModelProto(base, overrides));
  CHECK(model.ok()) << model.status().ToString();
  return *std::move(model);
}

}  // namespace orrery
