#pragma once
// Small scenarios that have, together, a use for every field of the schema, and
// the fields that are for people or for what is not a step.

namespace orrery {

inline constexpr const char* kFieldScenarios[] = {
    // Dense, all dimensions but experts; a fat tree.
    R"(name: "dense"
       model { preset: "gpt_22b" layers: 4 }
       system { preset: "dgx_h100_ib400" nodes: 2
         scale_out { fabric { fat_tree { tiers: 2 radix: 16 taper: 2 } } } }
       training { global_batch: 16 micro_batch: 1 sequence: 1024
         parallel { tensor: 4 pipeline: 2 } sharding: ZERO_1
         precision: BF16 bucket: "100 MB" })",
    // Sharded weights.
    R"(name: "sharded"
       model { preset: "llama3_8b" layers: 2 }
       system { preset: "dgx_h100_ib400" nodes: 2 }
       training { global_batch: 32 micro_batch: 1 sequence: 2048
         parallel { } sharding: ZERO_3 precision: FP8 })",
    // Gradients sharded, summed late.
    R"(name: "gradients"
       model { preset: "llama3_8b" layers: 2 }
       system { preset: "dgx_a100_hdr200" nodes: 2 }
       training { global_batch: 32 micro_batch: 1 sequence: 2048
         parallel { } sharding: ZERO_2 precision: BF16
         recompute: RECOMPUTE_PER_MODULE recompute_module: MLP
         bucket: "1 GB" })",
    // Experts and latent attention, context, two pieces per stage.
    R"(name: "experts"
       model { preset: "deepseek_v3" layers: 4
         moe { experts: 16 first_dense_layers: 1 } }
       system { preset: "dgx_h100_ib400" nodes: 4 }
       training { global_batch: 16 micro_batch: 1 sequence: 1024
         parallel { expert: 16 pipeline: 2 }
         dispatch_method: DISPATCH_BY_NODE
         precision: FP8 sharding: ZERO_1 })",
    R"(name: "context"
       model { preset: "gpt_oss_20b" layers: 4 }
       system { preset: "mi300x_8x400" nodes: 2
         fault { from: 1 remaining: 0.5 } }
       training { global_batch: 8 micro_batch: 1 sequence: 2048
         parallel { tensor: 2 context: 4 expert: 2 sequence_parallel: true }
         overlap_tensor: true precision: BF16 sharding: ZERO_1 })",
    R"(name: "torus"
       model { preset: "gemma3_1b" layers: 6 }
       system { preset: "tpu_v5p_pod" nodes: 4 }
       training { global_batch: 16 micro_batch: 1 sequence: 2048
         parallel { tensor: 4 } precision: BF16 sharding: ZERO_3 })",
    // Other fabrics.
    R"(name: "dragonfly"
       model { preset: "llama3_8b" layers: 2 }
       system { preset: "dgx_h100_ib400" nodes: 2 chips_per_node: 4
         scale_out { nics_per_node: 4 fabric { dragonfly {
           hosts_per_router: 2 routers_per_group: 2 globals_per_router: 1 } } } }
       training { global_batch: 16 micro_batch: 1 sequence: 1024
         parallel { } sharding: ZERO_0 precision: BF16 })",
    R"(name: "hyperx"
       model { preset: "llama3_8b" layers: 2 }
       system { preset: "dgx_h100_ib400" nodes: 2 chips_per_node: 4
         scale_out { nics_per_node: 4 fabric { hyperx {
           shape: [2, 2] hosts_per_router: 2 links: [1, 1] } } } }
       training { global_batch: 16 micro_batch: 1 sequence: 1024
         parallel { } sharding: ZERO_0 precision: BF16 })",
};

struct DescriptiveField {
  const char* name;
  const char* why;
};
inline constexpr DescriptiveField kDescriptiveFields[] = {
    {"Scenario.name", "a title"},
    {"Scenario.description", "for people"},
    {"Scenario.source", "for people"},
};

}  // namespace orrery
