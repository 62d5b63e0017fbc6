#include "workload/model/op.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/overload.h"

namespace orrery {
namespace {

double ElementBytes(double elements, DType dtype) {
  return elements * BytesPerElement(dtype);
}

Bytes RoundUp(double bytes) {
  return Bytes(static_cast<int64_t>(std::ceil(bytes)));
}

double GemmFlops(const Gemm& g) {
  return 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) *
         static_cast<double>(g.k) * static_cast<double>(g.batch);
}

double GroupedFlops(const GroupedGemm& g) {
  return 2.0 * g.total_rows() * static_cast<double>(g.n) *
         static_cast<double>(g.k);
}

// Two products forward (scores, and scores times values); backward the scores
// again, their gradient, and the gradients of query, key and value.
double AttentionFlops(const FusedAttention& a, bool count_repeated) {
  const double pairs = AttentionPairs(a);
  const double scores = 2.0 * pairs * a.head_dimension;
  const double values = 2.0 * pairs * a.value_dimension;
  if (!a.backward) return scores + values;
  return (count_repeated ? 3.0 : 2.0) * scores + 2.0 * values;
}

template <class Product>
double WeightBytes(double elements, const Product& g) {
  return elements * WeightBytesPerElement(g.operand, g.weight, g.weight_group);
}

double GemmBytes(const Gemm& g) {
  const auto m = static_cast<double>(g.m);
  const auto n = static_cast<double>(g.n);
  const auto k = static_cast<double>(g.k);
  const double output = ElementBytes(m * n, g.output);
  return static_cast<double>(g.batch) *
         (ElementBytes(m * k, g.operand) + WeightBytes(k * n, g) +
          output * (g.accumulate ? 2 : 1));
}

double GroupedBytes(const GroupedGemm& g) {
  const auto n = static_cast<double>(g.n);
  const auto k = static_cast<double>(g.k);
  const double rows = g.total_rows();
  if (g.weight_gradient) {
    return ElementBytes(rows * (n + k), g.operand) +
           ElementBytes(g.active * n * k, g.output) * (g.accumulate ? 2 : 1);
  }
  return ElementBytes(rows * k, g.operand) + WeightBytes(g.active * n * k, g) +
         ElementBytes(rows * n, g.output);
}

double AttentionBytes(const FusedAttention& a) {
  const double queries = static_cast<double>(a.batch) *
                         static_cast<double>(a.queries) * a.query_heads;
  const double seen = a.window > 0
                          ? std::min(static_cast<double>(a.keys),
                                     static_cast<double>(a.window + a.queries))
                          : static_cast<double>(a.keys);
  const double keys = static_cast<double>(a.batch) * seen * a.kv_heads;
  const double kv_width =
      a.head_dimension + (a.shared_key_value ? 0 : a.value_dimension);
  const double query = ElementBytes(queries * a.head_dimension, a.operand);
  const double output = ElementBytes(queries * a.value_dimension, a.operand);
  const double key_value = ElementBytes(keys * kv_width, a.cache);
  const double log_sum = 4.0 * queries;
  if (!a.backward) return query + output + key_value + log_sum;
  // Reads query, key, value, output, its gradient and the row sums; writes the
  // gradients of query, key and value.
  return 2 * query + 2 * output + 2 * key_value + log_sum;
}

}  // namespace

double WeightBytesPerElement(DType operand, std::optional<DType> weight,
                             int group) {
  return weight ? StoredWeightBits(*weight, group) / 8
                : BytesPerElement(operand);
}

double AttentionPairs(const FusedAttention& a) {
  const auto queries = static_cast<double>(a.queries);
  const auto keys = static_cast<double>(a.keys);
  double pairs = queries * keys;
  switch (a.mask) {
    case Mask::kFull:
      break;
    case Mask::kCausal:
      // The last query sees all keys: keys - queries + 1 .. keys.
      pairs = queries * (keys - (queries - 1) / 2);
      break;
    case Mask::kCausalBalanced:
      // The mean over the ranks of queries * ranks = keys.
      pairs = queries * (keys + 1) / 2;
      break;
  }
  if (a.window > 0) {
    const auto window = static_cast<double>(std::min(a.window, a.keys));
    double windowed = queries * window;
    if (a.mask == Mask::kCausal) {
      // Queries too early to look back that far see what there is.
      const double first = keys - queries + 1;
      const double partial = std::clamp(window - first, 0.0, queries);
      windowed -= partial * (2 * (window - first) - partial + 1) / 2;
    }
    pairs = std::min(pairs, windowed);
  }
  return pairs * static_cast<double>(a.batch) * a.query_heads;
}

Flops MatrixFlops(const Op& op) {
  return Flops(std::visit(
      Overload{[](const Gemm& g) { return GemmFlops(g); },
               [](const GroupedGemm& g) { return GroupedFlops(g); },
               [](const FusedAttention& a) { return AttentionFlops(a, true); },
               [](const Pointwise&) { return 0.0; }},
      op.work));
}

Flops ModelFlops(const Op& op) {
  // A lookup, however it is done.
  if (op.name == OpName::kEmbedding) return Flops(0);
  if (const auto* attention = std::get_if<FusedAttention>(&op.work)) {
    return Flops(AttentionFlops(*attention, false));
  }
  return MatrixFlops(op);
}

Flops VectorFlops(const Op& op) {
  return Flops(std::visit(
      Overload{[](const Gemm&) { return 0.0; },
               [](const GroupedGemm&) { return 0.0; },
               // Scale, maximum, exponential, sum and rescale of each score
               // forward; exponential, difference and product backward.
               [](const FusedAttention& a) { return 7.0 * AttentionPairs(a); },
               [](const Pointwise& p) { return p.flops; }},
      op.work));
}

Bytes CompulsoryBytes(const Op& op) {
  return std::visit(
      Overload{
          [](const Gemm& g) { return RoundUp(GemmBytes(g)); },
          [](const GroupedGemm& g) { return RoundUp(GroupedBytes(g)); },
          [](const FusedAttention& a) { return RoundUp(AttentionBytes(a)); },
          [](const Pointwise& p) { return p.read + p.written; }},
      op.work);
}

std::string_view Name(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return "forward";
    case Pass::kInputGradient:
      return "input_gradient";
    case Pass::kWeightGradient:
      return "weight_gradient";
  }
  CHECK(false) << "no such pass";
  return {};
}

std::string_view Name(OpName name) {
  static constexpr std::string_view kNames[] = {"embedding",
                                                "norm",
                                                "query_key_value",
                                                "query_down",
                                                "query_up",
                                                "key_value_down",
                                                "key_value_up",
                                                "query_absorb",
                                                "value_absorb",
                                                "rotary",
                                                "cache_write",
                                                "attention",
                                                "scores",
                                                "softmax",
                                                "scores_x_values",
                                                "attention_output",
                                                "bias",
                                                "dropout",
                                                "residual",
                                                "router",
                                                "top_k",
                                                "permute",
                                                "expert_up",
                                                "expert_activation",
                                                "expert_down",
                                                "unpermute",
                                                "shared_up",
                                                "shared_activation",
                                                "shared_down",
                                                "mlp_up",
                                                "mlp_activation",
                                                "mlp_down",
                                                "prediction_projection",
                                                "head",
                                                "sample",
                                                "loss",
                                                "quantize",
                                                "accumulate",
                                                "gradient_norm",
                                                "gradient_scale",
                                                "optimizer",
                                                "product",
                                                "grouped_product",
                                                "pointwise"};
  static_assert(std::size(kNames) ==
                static_cast<size_t>(OpName::kPointwise) + 1);
  return kNames[static_cast<size_t>(name)];
}

}  // namespace orrery
