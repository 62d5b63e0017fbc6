#pragma once
// Small training cases for tests: a model, a machine and a plan.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/check.h"
#include "proto/training.pb.h"
#include "tests/topology/machine/protos.h"
#include "tests/workload/model/models.h"
#include "topology/machine/system.h"
#include "workload/plan/training_plan.h"

namespace orrery {

struct TrainingCase {
  Model model;
  System system;
  TrainingPlan plan;
};

// 24 layers, 32 heads (8 of keys and values), hidden 4096, MLP 12288.
inline constexpr char kCaseModel[] =
    "name: 'dense' layers: 24 hidden: 4096 mlp { width: 12288 } "
    "attention { heads: 32 kv_heads: 8 head_dimension: 128 }";
// The same with 16 experts of width 2048 in every layer.
inline constexpr char kCaseExperts[] =
    "name: 'experts' layers: 24 hidden: 4096 mlp { width: 12288 } "
    "attention { heads: 32 kv_heads: 8 head_dimension: 128 } "
    "moe { experts: 16 experts_per_token: 2 expert_width: 2048 "
    "activation: SWIGLU }";

inline constexpr char kCaseTraining[] = R"(
  global_batch: 64 micro_batch: 1 sequence: 4096 precision: BF16
  gradient_precision: FP32 schedule: ONE_F_ONE_B virtual_stages: 1
  sharding: ZERO_1 recompute: RECOMPUTE_NONE attention_kernel: FLASH
  bucket: "40 MB" context_method: CONTEXT_RING
  overlap_gradient_reduction: true
  overlap_weight_gradient: true
  overlap_pipeline: true
  scatter_pipeline: true
  fuse_gradient_accumulation: true
  parallel { tensor: 1 context: 1 pipeline: 1 expert: 1 expert_tensor: 1 })";

// `changes` are textproto fields of Training merged over the ones above.
inline TrainingCase MakeCase(const std::string& changes, int nodes = 2,
                             const char* model_text = kCaseModel,
                             const Framework& framework = {}) {
  pb::Training proto, over;
  CHECK(google::protobuf::TextFormat::ParseFromString(kCaseTraining, &proto));
  CHECK(google::protobuf::TextFormat::ParseFromString(changes, &over));
  proto.MergeFrom(over);
  Model model = MakeModel(kSmallDense, model_text);
  auto system =
      System::FromProto(With(TestSystem(), "nodes: " + std::to_string(nodes)));
  CHECK(system.ok()) << system.status().ToString();
  auto* parallel = proto.mutable_parallel();
  if (!parallel->has_data()) {
    parallel->set_data(system->chips() / parallel->tensor() /
                       parallel->context() / parallel->pipeline());
  }
  auto plan = TrainingPlan::FromProto(proto, model, *system, framework);
  CHECK(plan.ok()) << plan.status().ToString();
  return {std::move(model), *std::move(system), *std::move(plan)};
}

}  // namespace orrery
