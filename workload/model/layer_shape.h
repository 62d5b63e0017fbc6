#pragma once
// LayerShape: how much work a layer gets on one rank, and in which manner.
//
// Everything here is about one rank of one micro-batch (or one decode step);
// pipeline and data parallelism have no place in it. Every field has a value
// that means "not split", so that LayerShape{.sequences = 1, .queries = 4096}
// is a whole layer on one chip.
#include <cstdint>
#include <optional>

#include "topology/machine/dtype.h"

namespace orrery {

enum class AttentionKernel : uint8_t {
  kFlash,
  // Scores, softmax and values as kernels of their own.
  kUnfused,
};

enum class ContextMethod : uint8_t { kRing, kAllGather, kUlysses };

// What is fused into one kernel besides attention.
enum class Fusion : uint8_t {
  // One kernel per operator: bias, activation, dropout, residual.
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
// they are computed or multiplied in.
struct KeptFormats {
  std::optional<DType> linear_input = std::nullopt;
  std::optional<DType> attention_output = std::nullopt;
  std::optional<DType> activation_input = std::nullopt;
  friend bool operator==(const KeptFormats&, const KeptFormats&) = default;
};

struct LayerShape {
  // Sequences of the micro-batch or of the decode batch.
  int64_t sequences = 1;
  // New tokens of each sequence, before the split over context ranks, and
  // tokens that are in the cache already.
  int64_t queries = 1;
  int64_t cached = 0;

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
  // Tokens on their way to the experts.
  DType dispatch = DType::kBf16;
  DType cache = DType::kBf16;
  KeptFormats kept = {};
  RoutingWeight routing_weight = RoutingWeight::kOnOutput;
  // Rows of this rank's experts over the mean: of all of them together, and of
  // the fullest. The others share what is left.
  double expert_load = 1;
  double expert_peak = 1;
  // Tokens do not travel to experts as an even, direct all-to-all.
  bool routed = false;
  // New keys and values are written to a cache (inference).
  bool write_cache = false;
  // Latent attention in the compressed space, as decoding does.
  bool absorb_latent = false;

  // Tokens of this rank.
  int64_t tokens() const { return sequences * queries / context; }
  friend bool operator==(const LayerShape&, const LayerShape&) = default;
};

}  // namespace orrery
