#pragma once
// Op: one kernel of a model, as a value.
//
// An op is a name, the pass it belongs to and a shape. What it costs in
// arithmetic and in compulsory memory traffic follows from the shape and is
// computed here; how long it takes on a chip is a matter of
// cost/kernel/op_time.h.
//
//   const Op op{OpName::kMlpUp, Pass::kForward,
//               Gemm{.m = 4096, .n = 28672, .k = 8192}};
//   MatrixFlops(op);        // 2 m n k
//   CompulsoryBytes(op);    // every operand once
//
// Ops are small and trivially copyable: lists of them are flat vectors.
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "base/units.h"
#include "topology/machine/dtype.h"

namespace orrery {

enum class OpName : uint8_t {
  kEmbedding,
  kNorm,
  kQueryKeyValue,
  kQueryDown,
  kQueryUp,
  kKeyValueDown,
  kKeyValueUp,
  kQueryAbsorb,
  kValueAbsorb,
  kRotary,
  kCacheWrite,
  kAttention,
  kScores,
  kSoftmax,
  kScoresTimesValues,
  kAttentionOutput,
  kBias,
  kDropout,
  kResidual,
  kRouter,
  kTopK,
  kPermute,
  kExpertUp,
  kExpertActivation,
  kExpertDown,
  kUnpermute,
  kSharedUp,
  kSharedActivation,
  kSharedDown,
  kMlpUp,
  kMlpActivation,
  kMlpDown,
  kPredictionProjection,
  kHead,
  kSample,
  kLoss,
  kQuantize,
  kAccumulate,
  kGradientNorm,
  kGradientScale,
  kOptimizer,
  // Without a place in a model.
  kProduct,
  kGroupedProduct,
  kPointwise,
};
// "mlp_up": for tables, traces and JSON.
std::string_view Name(OpName name);

// What one kernel computes: activations, or one of the two parts of backward
// work, because schedules may run them apart. What a schedule runs of a whole
// stage is a PipelinePass (workload/plan/schedule.h), what a task is reported
// as a WorkPhase (workload/program/task.h).
enum class Pass : uint8_t { kForward, kInputGradient, kWeightGradient };
std::string_view Name(Pass pass);

// C[m, n] = A[m, k] B[k, n], `batch` times with operands of their own.
struct Gemm {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;
  DType operand = DType::kBf16;
  DType output = DType::kBf16;
  // C is read and added to (gradients summed over micro-batches).
  bool accumulate = false;
  // B is weights stored in a narrower format than `operand`, with scales, and
  // widened on the way to the matrix units; unset: as `operand`.
  std::optional<DType> weight = std::nullopt;
  // Of them, so many share a scale and a zero; 0: as the format has it.
  int32_t weight_group = 0;
  friend bool operator==(const Gemm&, const Gemm&) = default;
};

// `groups` products with weights of their own and rows that differ: one group
// has `hot_rows`, every other `rows`. Only `active` of the groups are expected
// to have any row at all, and only their weights are read.
struct GroupedGemm {
  int32_t groups = 0;
  double rows = 0;
  double hot_rows = 0;
  double active = 0;
  int64_t n = 0;
  int64_t k = 0;
  DType operand = DType::kBf16;
  DType output = DType::kBf16;
  bool accumulate = false;
  // The gradient of the weights: per group [k, rows] x [rows, n].
  bool weight_gradient = false;
  // As of Gemm.
  std::optional<DType> weight = std::nullopt;
  int32_t weight_group = 0;
  double total_rows() const { return rows * (groups - 1) + hot_rows; }
  friend bool operator==(const GroupedGemm&, const GroupedGemm&) = default;
};

// Which keys a query sees.
enum class Mask : uint8_t {
  kFull,
  // The last query sees all keys, each earlier one a key less.
  kCausal,
  // As many pairs as kCausal has on the mean over ranks that share a sequence
  // in balanced (zigzag) chunks.
  kCausalBalanced,
};

// Fused (flash) attention of `batch` sequences: scores never reach memory.
struct FusedAttention {
  int64_t batch = 0;
  int32_t query_heads = 0;
  int32_t kv_heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  // Width of a query and key head, and of a value head.
  int32_t head_dimension = 0;
  int32_t value_dimension = 0;
  Mask mask = Mask::kCausal;
  // Keys a query looks back at; 0: all of them.
  int64_t window = 0;
  DType operand = DType::kBf16;
  DType cache = DType::kBf16;
  // Values are part of the keys (latent attention): read once.
  bool shared_key_value = false;
  // Query heads that share keys and values each read them for themselves, side
  // by side: once from memory, the others from the cache.
  bool ungrouped = false;
  bool backward = false;
  friend bool operator==(const FusedAttention&,
                         const FusedAttention&) = default;
};

// What a kernel without matrix products does to memory.
struct Pointwise {
  enum class Kind : uint8_t {
    kElementwise,
    // Normalises rows: reads long rows twice.
    kNorm,
    kSoftmax,
    // Casts to a narrower format with a scale found from the data.
    kQuantize,
  };
  Kind kind = Kind::kElementwise;
  // Kernels launched.
  int32_t launches = 1;
  Bytes read{};
  Bytes written{};
  // On the vector units.
  double flops = 0;
  // Elements in a row of kNorm and kSoftmax.
  int64_t row = 0;
  friend bool operator==(const Pointwise&, const Pointwise&) = default;
};

using Work = std::variant<Gemm, GroupedGemm, FusedAttention, Pointwise>;

struct Op {
  OpName name = OpName::kPointwise;
  Pass pass = Pass::kForward;
  Work work;
  friend bool operator==(const Op&, const Op&) = default;
};

// Bytes per weight as a product reads it: in its stored format with the scales
// that come along, or in that of the operands.
double WeightBytesPerElement(DType operand, std::optional<DType> weight,
                             int group = 0);

// Query-key pairs that are computed, over all query heads and sequences.
double AttentionPairs(const FusedAttention& attention);

// Arithmetic of the matrix units as executed: a multiply-add is 2. Backward
// flash attention counts its five products, one of which repeats the forward.
Flops MatrixFlops(const Op& op);
// As published model FLOPs count: without what a kernel repeats, so that
// backward attention is twice forward.
Flops ModelFlops(const Op& op);
// Arithmetic of the vector units.
Flops VectorFlops(const Op& op);

// Main-memory traffic if every operand moved exactly once.
Bytes CompulsoryBytes(const Op& op);

}  // namespace orrery
