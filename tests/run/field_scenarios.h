#pragma once
// Small scenarios that have, together, a use for every field of the schema, and
// the fields that are for people or for what is not a step.

namespace orrery {

inline constexpr const char* kFieldScenarios[] = {
    // Heads that do not fill a matrix unit.
    R"(name: "narrow"
       model { preset: "llama3_8b" layers: 2 }
       system { preset: "dgx_h100_ib400" nodes: 1 }
       kernels { attention: "wide" flash_attention { name: "wide" rows: 128
         columns: 128 min_rows: 64 efficiency: 0.8 backward_efficiency: 0.7
         softmax_operations: 6 softmax_exposed: 0.5 backward_exposed: 0.8
         combine: "9 us" head_unit: 256 } }
       training { global_batch: 16 micro_batch: 1 sequence: 2048
         parallel { } sharding: ZERO_3 precision: BF16 })",
    // An operator at a time.
    R"(name: "eager"
       model { preset: "llama3_8b" layers: 2 }
       system { preset: "dgx_h100_ib400" nodes: 1 }
       framework { preset: "torchtitan_2025" norms_in_parts: true }
       training { global_batch: 16 micro_batch: 1 sequence: 2048
         parallel { } sharding: ZERO_3 precision: BF16
         recompute: RECOMPUTE_PER_OP })",
    // A host that waits, heads that are not aligned, buckets of gradients.
    R"(name: "waiting"
       model { preset: "gpt_22b" layers: 2 attention { head_dimension: 100 } }
       system { preset: "dgx_a100_hdr200" nodes: 1 }
       framework { preset: "megatron_lm_2022" dispatch: "50 us"
         blocking_launches: true keeps_buckets: true
         collective_check: "200 us"
         prunes_recomputation: true }
       training { global_batch: 16 micro_batch: 1 sequence: 1024
         parallel { tensor: 4 } sharding: ZERO_0 precision: BF16
         recompute: RECOMPUTE_FULL })",
    // Memory of a framework's own: wide sums, and sums as narrow as weights.
    R"(name: "held"
       model { preset: "llama3_8b" layers: 2 }
       system { preset: "dgx_h100_ib400" nodes: 1 }
       framework { preset: "nanotron_2024" keeps_gradients: true
         bucket_memory: "1 GB" launch_queue: 20 }
       training { global_batch: 8 micro_batch: 1 sequence: 1024
         parallel { tensor: 4 sequence_parallel: true } sharding: ZERO_1
         precision: BF16 })",
    R"(name: "widened"
       model { preset: "gpt_22b" layers: 2 }
       system { preset: "dgx_a100_hdr200" nodes: 1 }
       framework { preset: "megatron_deepspeed_2022" }
       training { global_batch: 8 micro_batch: 1 sequence: 1024
         parallel { tensor: 4 } sharding: ZERO_1 precision: FP16 })",
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
         fault { from: 1 remaining: 0.5 }
         slow_chip { chip: 2 slowdown: 1.1 } }
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
    // Fabrics whose shape matters to traffic of all with all, and a library
    // that
    // uses what switches can do.
    R"(name: "tree"
       model { preset: "mixtral_8x7b" layers: 2 }
       system { preset: "mi300x_8x400" nodes: 8 chips_per_node: 4
         scale_out { nics_per_node: 4 fabric {
           fat_tree { tiers: 3 radix: 10 taper: 1 } } } }
       training { global_batch: 32 micro_batch: 1 sequence: 1024
         parallel { expert: 8 order: [TENSOR, CONTEXT, DATA, EXPERT, PIPELINE] } sharding: ZERO_0 precision: BF16 })",
    R"(name: "tree_that_reduces"
       model { preset: "mixtral_8x7b" layers: 2 }
       system { preset: "mi300x_8x400" nodes: 8 chips_per_node: 4
         scale_up { fabric { switch { planes: 1 links_per_endpoint: 4 } } }
         scale_out { nics_per_node: 4 fabric {
           fat_tree { tiers: 3 radix: 10 taper: 1 } } } }
       training { global_batch: 32 micro_batch: 1 sequence: 1024
         parallel { expert: 8 order: [TENSOR, CONTEXT, DATA, EXPERT, PIPELINE] } sharding: ZERO_0 precision: BF16 })",
    R"(name: "rails"
       model { preset: "mixtral_8x7b" layers: 2 }
       system { preset: "mi300x_8x400" nodes: 32 chips_per_node: 1
         scale_out { nics_per_node: 1 fabric {
           rail_optimized { tiers: 3 radix: 10 taper: 1 } } } }
       training { global_batch: 32 micro_batch: 1 sequence: 1024
         parallel { expert: 8 } sharding: ZERO_0 precision: BF16 })",
    R"(name: "rails_crossed"
       model { preset: "mixtral_8x7b" layers: 2 }
       system { preset: "mi300x_8x400" nodes: 8 chips_per_node: 4
         scale_out { nics_per_node: 4 fabric {
           rail_optimized { tiers: 3 radix: 6 taper: 1 } } } }
       training { global_batch: 32 micro_batch: 1 sequence: 1024
         parallel { expert: 8 order: [TENSOR, CONTEXT, DATA, EXPERT, PIPELINE] }
         sharding: ZERO_0 precision: BF16 })",
    R"(name: "rails_that_reduce"
       model { preset: "mixtral_8x7b" layers: 2 }
       system { preset: "mi300x_8x400" nodes: 8 chips_per_node: 4
         scale_up { fabric { switch { planes: 1 links_per_endpoint: 4 } } }
         scale_out { nics_per_node: 4 fabric {
           rail_optimized { tiers: 3 radix: 8 taper: 1 } } } }
       training { global_batch: 32 micro_batch: 1 sequence: 1024
         parallel { expert: 8 } sharding: ZERO_0 precision: BF16 })",
    // Switches that add up, as deep as the tree is.
    R"(name: "deep_tree"
       model { preset: "gpt_22b" layers: 2 }
       system { preset: "dgx_h100_ib400" nodes: 5
         scale_out { fabric {
           fat_tree { tiers: 3 radix: 10 taper: 1 reduces: true } } }
         collectives { algorithm: "ring" algorithm: "all_reduce/sharp" } }
       training { global_batch: 40 micro_batch: 1 sequence: 1024
         parallel { } sharding: ZERO_0 precision: BF16 })",
    R"(name: "deep_rails"
       model { preset: "gpt_22b" layers: 2 }
       system { preset: "dgx_h100_ib400" nodes: 12 chips_per_node: 2
         scale_out { nics_per_node: 2 fabric {
           rail_optimized { tiers: 3 radix: 8 taper: 1 reduces: true } } }
         collectives { algorithm: "ring" algorithm: "all_reduce/sharp" } }
       training { global_batch: 24 micro_batch: 1 sequence: 1024
         parallel { } sharding: ZERO_0 precision: BF16 })",
    // Products of few rows in a format with constants of its own.
    R"(name: "small_products"
       model { preset: "llama3_8b" layers: 2 }
       system { preset: "dgx_b200" nodes: 1 }
       training { global_batch: 8 micro_batch: 1 sequence: 128
         parallel { } sharding: ZERO_0 precision: FP8 })",
    // And of many, which the power limit slows down.
    R"(name: "large_products"
       model { preset: "llama3_8b" layers: 2 }
       system { preset: "dgx_b200" nodes: 1 }
       training { global_batch: 8 micro_batch: 1 sequence: 8192
         parallel { } sharding: ZERO_0 precision: FP4 })",
    R"(name: "planes"
       model { preset: "llama3_8b" layers: 2 }
       system { preset: "mi300x_8x400" nodes: 1
         scale_up { fabric { switch { planes: 2 links_per_endpoint: 4 }
           routing: SPRAY } } }
       training { global_batch: 4 micro_batch: 1 sequence: 1024
         parallel { tensor: 8 } precision: BF16 })",
    R"(name: "groups"
       model { preset: "mixtral_8x7b" layers: 2 }
       system { preset: "mi300x_8x400" nodes: 16 chips_per_node: 2
         scale_out { nics_per_node: 2 fabric { dragonfly { hosts_per_router: 2
           routers_per_group: 4 globals_per_router: 2 groups: 5 } } } }
       training { global_batch: 32 micro_batch: 1 sequence: 1024
         parallel { expert: 8 order: [TENSOR, CONTEXT, DATA, EXPERT, PIPELINE] }
         sharding: ZERO_0 precision: BF16 })",
};

// Of these another legal value gives the same step.
struct DescriptiveField {
  const char* name;
  const char* why;
};
inline constexpr DescriptiveField kDescriptiveFields[] = {
    // For people.
    {"Scenario.name", "a title"},
    {"Scenario.description", "for people"},
    {"Scenario.source", "for people; estimates become warnings"},
    {"Model.name", "a name"},
    {"Model.description", "for people"},
    {"Model.parameter_note", "for people"},
    {"Model.source", "for people"},
    {"System.name", "a name"},
    {"System.description", "for people"},
    {"System.source", "for people"},
    {"Chip.name", "a name; kernels made for another chip are warned of"},
    {"Chip.description", "for people"},
    {"Chip.vendor", "for people"},
    {"Chip.year", "for people"},
    {"Chip.memory_kind", "for people, until prices are asked for"},
    {"Chip.source", "for people"},
    {"Kernels.description", "for people"},
    {"Kernels.source", "for people; estimates become warnings"},
    {"CollectiveCalibration.library", "a name"},
    {"CollectiveCalibration.source", "for people; estimates become warnings"},
    {"FlashAttention.name",
     "a name; that which `attention` chooses must exist"},
    {"CacheLevel.name", "a name"},
    {"LinkClass.name", "a name"},
    {"Host.cpu", "a name"},
    // Done with when a scenario is resolved.
    {"Model.preset", "merged before"},
    {"System.preset", "merged before"},
    {"Chip.preset", "merged before"},
    {"Kernels.preset", "merged before"},
    {"Chip.default_kernels", "merged before"},
    {"Chip.matrix_efficiency", "put into the kernels before"},
    {"Framework.preset", "merged before"},
    {"Framework.default_for", "chosen by before"},
    {"Framework.layer_split", "made into layers_per_stage before"},
    {"Framework.name", "a name"},
    {"Framework.description", "for people"},
    {"Framework.host_waits_for_receive",
     "of hosts slower than their chip (tests/run/host_test.cc)"},
    {"Source.title", "for people"},
    {"Source.url", "for people"},
    {"Source.retrieved", "for people"},
    {"Source.covers", "for people"},
    {"Source.note", "for people"},
    {"Source.estimate", "becomes a warning"},
    // What the authors say, for tests of parameter counts.
    {"Model.published_parameters", "tests/catalog/models_test.cc"},
    {"Model.published_unit", "tests/catalog/models_test.cc"},
    {"Model.published_active_parameters", "tests/catalog/models_test.cc"},
    {"Model.published_active_unit", "tests/catalog/models_test.cc"},
    {"Model.published_active_without_embedding",
     "tests/catalog/models_test.cc"},
    // Of kernels, but not of those in a step.
    {"Chip.burst_clock", "of kernels timed one at a time (validate kernels)"},
    {"Chip.memory_latency", "of the chip's description"},
    {"CacheLevel.per_unit", "of caches that the kernel model does not look at"},
    {"Rate.dtype", "names an entry; its rate acts"},
    {"Kernels.fitted_row", "of error tables (validate kernels)"},
    {"Kernels.taken_over", "of the wording of a warning"},
    {"Kernels.graph_launch", "of inference"},
    {"MeasuredProducts.dtype",
     "acts on shapes in the table, as those of "
     "tests/cost/kernel/measured_products_test.cc"},
    {"MeasuredProducts.columns", "the same"},
    {"MeasuredProducts.reduction", "the same"},
    {"Point.rows", "the same"},
    {"Point.time", "the same"},
    // Of money, power and what is outside of a step.
    {"Chip.power", "of energy"},
    {"Chip.die", "of silicon"},
    {"Chip.port", "of the chip's description; fabrics have the links"},
    {"LinkClass.price_id", "of prices"},
    {"Switch.planes",
     "of switches and prices (tests/cli/cost_command_test.cc): planes are used "
     "evenly"},
    {"Host.cpus_per_node", "of prices"},
    {"Host.memory", "of prices"},
    {"Host.chip_bandwidth", "of what is kept in the host, which no plan does"},
    {"Host.python_slowdown",
     "of engines in Python (tests/run/offline_run_test.cc)"},
    {"Host.power", "of energy"},
    {"Training.run_tokens", "of a whole run"},
};

}  // namespace orrery
