#pragma once
// LayerShape: how much work a layer gets on one rank, and in which manner.
//
// Everything here is about one rank of one micro-batch (or one step of an
// inference engine); pipeline and data parallelism have no place in it. Every
// field but `groups` has a value that means "not split" or "as usual":
//
//   // A layer in training, whole on one chip.
//   LayerShape{.groups = {{.count = 2, .queries = 4096}}}
//   // Three chunks of prompts and 61 decoding sequences in one batch.
//   LayerShape{.purpose = PassPurpose::kMixed,
//              .groups = {{.count = 3, .queries = 512, .cached = 1024},
//                         {.count = 61, .queries = 1, .cached = 1000}}}
//
// Matrix products, norms and experts see the tokens of all groups; attention is
// a kernel per group, so put sequences alike into one.
//
// Context ranks split the new and the cached tokens of every sequence evenly.
// Requires: at least one group, none empty; `context` divides the queries and
// the cached tokens of each (not so in decoding token by token), and if a layer
// has a window only Ulysses takes cached tokens; nothing cached in training.
#include <cstdint>
#include <optional>
#include <vector>

#include "topology/machine/dtype.h"
#include "workload/model/pass_purpose.h"

namespace orrery {

enum class AttentionKernel : uint8_t {
  kFlash,
  // Scores, softmax and values as kernels of their own.
  kUnfused,
};

enum class ContextMethod : uint8_t { kRing, kAllGather, kUlysses };

// What is fused into one kernel besides attention.
enum class Fusion : uint8_t {
  // An operator at a time, as PyTorch runs a model: both parts of a gated
  // activation, dropout, residual, the four of a rotation, the gradient of a
  // norm's input and that of its weights. A bias is part of its product.
  kNone,
  // Bias with activation; bias, dropout and residual with one another.
  kPointwise,
  // The residual also with the norm that follows, as inference engines do.
  kResidualNorm,
};

// Where a token's routing weights multiply: when the outputs of its experts are
// summed, or inside each expert before the second product.
enum class RoutingWeight : uint8_t { kOnOutput, kOnActivation };

// Formats in which tensors wait for the backward pass, where it is not the one
// they are computed or multiplied in. Of training only.
struct KeptFormats {
  std::optional<DType> linear_input = std::nullopt;
  std::optional<DType> attention_output = std::nullopt;
  std::optional<DType> activation_input = std::nullopt;
  friend bool operator==(const KeptFormats&, const KeptFormats&) = default;
};

struct LayerShape {
  PassPurpose purpose = PassPurpose::kTraining;
  // The sequences, before the split over context ranks.
  std::vector<SequenceGroup> groups;

  int tensor = 1;
  int context = 1;
  // Ranks over which experts are spread, and tensor degree inside an expert.
  // Requires: sequence_parallel or expert_tensor == tensor.
  int expert = 1;
  int expert_tensor = 1;
  bool sequence_parallel = false;
  ContextMethod context_method = ContextMethod::kRing;

  AttentionKernel attention = AttentionKernel::kFlash;
  Fusion fusion = Fusion::kPointwise;
  // Queries see only earlier keys; false for the full square of the formulas
  // that count it so.
  bool causal = true;
  // Operands of matrix products.
  DType precision = DType::kBf16;
  // What passes between kernels and is kept for the backward pass.
  DType activation = DType::kBf16;
  // Weight gradients as accumulated.
  DType gradient = DType::kFp32;
  // The product of a weight gradient adds it to that sum by itself.
  bool fuse_accumulation = true;
  // Logits are cast to FP32, and softmax and its gradient are kernels of their
  // own, which keep what they wrote.
  bool separate_loss = false;
  // And the softmax is five of them.
  bool loss_in_parts = false;
  // Tokens are one-hot rows, and the embedding a product with its table.
  bool embeds_by_product = false;
  // With sequence parallelism: the tokens that were gathered for a product are
  // kept for its weights' gradient, not gathered again.
  bool keep_gathered = false;
  // Queries, keys and values, and gate and up of an MLP, are products of their
  // own (training).
  bool products_apart = false;
  // Attention gets keys and values that were copied for each query head; a
  // rotation is a complex product of FP32 copies; a norm is a row of operators
  // (training).
  bool repeats_key_values = false;
  bool complex_rotation = false;
  bool norms_in_parts = false;
  // Tokens on their way to the experts.
  DType dispatch = DType::kBf16;
  // Keys and values in the cache (inference).
  DType cache = DType::kBf16;
  // Weights as stored, where that is narrower than `precision` (inference).
  std::optional<DType> weight = std::nullopt;
  // Of these, so many share a scale and a zero; 0: as the format has it.
  int weight_group = 0;
  // Embedding and head stand whole on every tensor rank; the head is stored
  // like the other weights; gate and up of an MLP are products of their own
  // (inference).
  bool whole_ends = false;
  bool narrow_head = false;
  bool gate_apart = false;
  // What engines fuse besides: rotation and the way to the cache into the
  // attention kernel; casts to a narrow format into the kernel before.
  bool fuse_rotary = false;
  bool fuse_casts = false;
  // Decode attention reads keys and values once for every query head.
  bool ungrouped_decode = false;
  // Ranks over which the cache of decoding sequences is split; all have every
  // query. Requires: context == 1 (inference).
  int cache_split = 1;
  // Copies of experts that get much, beyond one of each; spread like the others
  // (inference).
  int redundant_experts = 0;
  KeptFormats kept = {};
  RoutingWeight routing_weight = RoutingWeight::kOnOutput;
  // Rows of this rank's experts over the mean: of all of them together, and of
  // the fullest. The others share what is left.
  double expert_load = 1;
  double expert_peak = 1;
  // Tokens do not travel to experts as an even, direct all-to-all.
  bool routed = false;

  // New tokens of this rank.
  int64_t tokens() const {
    int64_t sum = 0;
    for (const SequenceGroup& g : groups) sum += g.count * g.queries;
    return sum / context;
  }
  // Positions whose logits this rank computes. In training they are split over
  // context ranks like all tokens; the few of inference are not.
  int64_t logits() const {
    if (Trains(purpose)) return tokens();
    int64_t sum = 0;
    for (const SequenceGroup& g : groups) {
      sum += g.count * LogitsPerSequence(purpose, g);
    }
    return sum;
  }
  friend bool operator==(const LayerShape&, const LayerShape&) = default;
};

}  // namespace orrery
