#include "accuracy/kernels/kernel_row.h"

#include <absl/strings/match.h>
#include <absl/strings/strip.h>

#include <cmath>

#include "base/format.h"
#include "base/status.h"
#include "cost/kernel/op_size.h"

namespace orrery {
namespace {

// BabelStream's default array, in doubles.
constexpr double kStreamElements = 33554432;
// "33.5 MB tensor copy" of the TPU recipes.
constexpr double kCopyBytes = 33.5e6;
// Operations per element of the pointwise kernels, as in the layers.
constexpr double kGeluFlops = 10;
constexpr double kNormFlops = 7;
constexpr double kSoftmaxFlops = 7;

void Add(KernelRow& out, OpName name, const Work& work) {
  out.ops.push_back(Op{name, Pass::kForward, work});
}

Pointwise Rows(Pointwise::Kind kind, double rows, double row, double flops) {
  const auto bytes = Bytes(std::llround(2 * rows * row));
  return {.kind = kind,
          .read = bytes,
          .written = bytes,
          .flops = flops * rows * row,
          .row = std::llround(row)};
}

absl::Status ReadGemm(const MeasurementRow& row, DType dtype, KernelRow& out) {
  ASSIGN_OR_RETURN(const int64_t m, row.Whole("m"));
  ASSIGN_OR_RETURN(const int64_t n, row.Whole("n"));
  ASSIGN_OR_RETURN(const int64_t k, row.Whole("k"));
  const bool narrow = dtype == DType::kFp8 || dtype == DType::kFp4;
  const DType output = narrow ? DType::kBf16 : dtype;
  const std::string source = row.Text("source_id");
  const std::string notes = row.Text("notes");
  RETURN_IF_ERROR(CheckSize(
      {OpName::kProduct, Pass::kForward, Gemm{.m = m, .n = n, .k = k}}));
  // aiconfigurator times the cast of the activations along.
  if (narrow && absl::StartsWith(source, "aic_")) {
    const double written = BytesPerElement(dtype) * static_cast<double>(m) *
                           static_cast<double>(k);
    Add(out, OpName::kQuantize,
        Pointwise{.kind = Pointwise::Kind::kQuantize,
                  .read = Bytes(2 * m * k),
                  .written = Bytes(std::llround(written)),
                  .flops = 2.0 * static_cast<double>(m * k)});
  }
  // Query, key and value stand in LLMCompass's table as three times one call
  // (software_model/transformer.py: run_on_gpu() * 3).
  const int products = absl::StrContains(notes, "op Q_K_V") ? 3 : 1;
  out.clocked = products;
  for (int i = 0; i < products; ++i) {
    Add(out, OpName::kMlpUp,
        Gemm{.m = m,
             .n = n / products,
             .k = k,
             .operand = dtype,
             .output = output});
  }
  return absl::OkStatus();
}

absl::Status ReadGrouped(const MeasurementRow& row, DType dtype,
                         KernelRow& out) {
  ASSIGN_OR_RETURN(const int64_t groups, row.Whole("groups", 1, 100'000));
  ASSIGN_OR_RETURN(const double rows, row.Positive("m"));
  ASSIGN_OR_RETURN(const int64_t n, row.Whole("n"));
  ASSIGN_OR_RETURN(const int64_t k, row.Whole("k"));
  Add(out, OpName::kExpertUp,
      GroupedGemm{.groups = static_cast<int32_t>(groups),
                  .rows = rows,
                  .hot_rows = rows,
                  .active = static_cast<double>(groups),
                  .n = n,
                  .k = k,
                  .operand = dtype});
  return absl::OkStatus();
}

absl::StatusOr<FusedAttention> ReadHeads(const MeasurementRow& row,
                                         DType dtype) {
  FusedAttention a;
  ASSIGN_OR_RETURN(a.batch, row.Whole("batch"));
  ASSIGN_OR_RETURN(const int64_t heads, row.Whole("q_heads"));
  ASSIGN_OR_RETURN(const int64_t kv_heads, row.Whole("kv_heads"));
  ASSIGN_OR_RETURN(a.queries, row.Whole("seq_q"));
  ASSIGN_OR_RETURN(a.keys, row.Whole("seq_kv"));
  ASSIGN_OR_RETURN(const int64_t width, row.Whole("head_dim"));
  if (heads > 100'000 || kv_heads > heads || width > 100'000 ||
      a.queries > a.keys) {
    return absl::InvalidArgumentError(
        "heads, head_dim or sequence lengths make no attention");
  }
  a.query_heads = static_cast<int32_t>(heads);
  a.kv_heads = static_cast<int32_t>(kv_heads);
  a.head_dimension = static_cast<int32_t>(width);
  a.value_dimension = a.head_dimension;
  a.operand = dtype;
  a.cache = dtype;
  RETURN_IF_ERROR(CheckSize({OpName::kAttention, Pass::kForward, a}));
  if (row.Has("kv_dtype")) {
    ASSIGN_OR_RETURN(a.cache, row.Format("kv_dtype"));
  }
  return a;
}

// Two products, the first with the scale, and a softmax over scores that lie in
// memory. How a mask is applied, and what autograd keeps, differs between
// harnesses.
absl::Status ReadUnfused(const MeasurementRow& row, const FusedAttention& a,
                         const std::string& direction, KernelRow& out) {
  if (direction != "fwd") {
    return row.Wrong("direction", "fwd where attention is not fused");
  }
  if (a.mask != Mask::kFull) {
    return row.Wrong("causal", "no where attention is not fused");
  }
  const int64_t heads = a.batch * a.query_heads;
  const auto product = [&](int64_t n, int64_t k) {
    return Gemm{.m = a.queries,
                .n = n,
                .k = k,
                .batch = heads,
                .operand = a.operand,
                .output = a.operand};
  };
  const auto scores = static_cast<double>(heads * a.queries);
  Add(out, OpName::kScores, product(a.keys, a.head_dimension));
  Add(out, OpName::kSoftmax,
      Rows(Pointwise::Kind::kSoftmax, scores, static_cast<double>(a.keys),
           kSoftmaxFlops));
  Add(out, OpName::kScoresTimesValues, product(a.value_dimension, a.keys));
  out.kernel_class = KernelClass::kUnfusedAttention;
  return absl::OkStatus();
}

absl::Status ReadAttention(const MeasurementRow& row, DType dtype,
                           KernelRow& out) {
  ASSIGN_OR_RETURN(FusedAttention a, ReadHeads(row, dtype));
  const std::string direction = row.Get("direction").value_or("fwd");
  ASSIGN_OR_RETURN(a.mask, row.Choice<Mask>("causal", {{"yes", Mask::kCausal},
                                                       {"no", Mask::kFull},
                                                       {"", Mask::kFull}}));
  const bool served = direction == "prefill" || direction == "decode";
  if (served && absl::StrContains(row.Text("notes"), "RoPE")) {
    // The harness also rotates query and key and writes the cache, in kernels
    // of their own before it.
    const double tokens = static_cast<double>(a.batch * a.queries);
    const double width =
        static_cast<double>(a.query_heads + 2 * a.kv_heads) * a.head_dimension;
    Pointwise rotary =
        Rows(Pointwise::Kind::kElementwise, tokens, width, kNormFlops);
    rotary.launches = direction == "prefill" ? 2 : 1;
    Add(out, OpName::kRotary, rotary);
  }
  if (absl::StartsWith(row.Text("implementation"), "Standard attention")) {
    return ReadUnfused(row, a, direction, out);
  }
  if (direction != "bwd") Add(out, OpName::kAttention, a);
  if (direction == "fwd+bwd" || direction == "bwd") {
    a.backward = true;
    Add(out, OpName::kAttention, a);
  } else if (direction != "fwd" && !served) {
    return row.Wrong("direction", "fwd, bwd, fwd+bwd, prefill or decode");
  }
  out.kernel_class = direction == "decode"    ? KernelClass::kDecodeAttention
                     : direction == "prefill" ? KernelClass::kPrefillAttention
                                              : KernelClass::kAttention;
  return absl::OkStatus();
}

// Latent attention of prompts: keys and values are made for every head, and the
// keys are wider by what is rotated.
absl::Status ReadLatentPrompt(const MeasurementRow& row, DType dtype,
                              int64_t rope, KernelRow& out) {
  ASSIGN_OR_RETURN(FusedAttention a, ReadHeads(row, dtype));
  if (a.head_dimension <= rope) {
    return row.Wrong("head_dim", "more than the 64 that are rotated");
  }
  if (a.kv_heads != a.query_heads) {
    return row.Wrong("kv_heads", "q_heads in a prompt of latent attention");
  }
  a.value_dimension = a.head_dimension - static_cast<int32_t>(rope);
  a.mask = Mask::kCausal;
  Add(out, OpName::kAttention, a);
  out.kernel_class = KernelClass::kPrefillAttention;
  return absl::OkStatus();
}

// Latent attention. In decode it is absorbed: one key of the whole width for
// all heads, whose last 64 are rotated and no part of the value.
absl::Status ReadLatent(const MeasurementRow& row, DType dtype,
                        KernelRow& out) {
  constexpr int kRope = 64;
  const std::string direction = row.Get("direction").value_or("decode");
  if (direction == "prefill") return ReadLatentPrompt(row, dtype, kRope, out);
  if (direction != "decode") return row.Wrong("direction", "prefill or decode");
  ASSIGN_OR_RETURN(const int64_t batch, row.Whole("batch"));
  ASSIGN_OR_RETURN(const int64_t heads, row.Whole("q_heads"));
  ASSIGN_OR_RETURN(const int64_t keys, row.Whole("seq_kv"));
  ASSIGN_OR_RETURN(const int64_t width, row.Whole("head_dim"));
  if (heads > 100'000 || width <= kRope || width > 100'000) {
    return absl::InvalidArgumentError("q_heads or head_dim make no attention");
  }
  Add(out, OpName::kAttention,
      FusedAttention{.batch = batch,
                     .query_heads = static_cast<int32_t>(heads),
                     .kv_heads = 1,
                     .queries = 1,
                     .keys = keys,
                     .head_dimension = static_cast<int32_t>(width),
                     .value_dimension = static_cast<int32_t>(width - kRope),
                     .operand = dtype,
                     .cache = dtype,
                     .shared_key_value = true});
  out.kernel_class = KernelClass::kDecodeAttention;
  return absl::OkStatus();
}

absl::Status ReadPointwise(const MeasurementRow& row, const std::string& kernel,
                           KernelRow& out) {
  ASSIGN_OR_RETURN(const double m, row.Positive("m"));
  ASSIGN_OR_RETURN(const double n, row.Positive("n"));
  if (m * n > 1e14) {
    return absl::InvalidArgumentError("columns 'm' and 'n': too many elements");
  }
  if (kernel == "softmax") {
    Add(out, OpName::kSoftmax,
        Rows(Pointwise::Kind::kSoftmax, m, n, kSoftmaxFlops));
  } else if (kernel == "layernorm") {
    Add(out, OpName::kNorm, Rows(Pointwise::Kind::kNorm, m, n, kNormFlops));
  } else {
    Add(out, OpName::kMlpActivation,
        Rows(Pointwise::Kind::kElementwise, m, n, kGeluFlops));
  }
  out.kernel_class = KernelClass::kMemoryBound;
  return absl::OkStatus();
}

// Bandwidths of long streams: reads and writes per element as BabelStream
// counts them.
absl::Status ReadStream(const MeasurementRow& row, const std::string& kernel,
                        KernelRow& out) {
  ASSIGN_OR_RETURN(const double rate, row.Positive("GBps"));
  double array = 8 * kStreamElements;
  double read = 1;
  double written = 1;
  if (kernel == "stream_add" || kernel == "stream_triad") {
    read = 2;
  } else if (kernel == "stream_dot") {
    read = 2;
    written = 0;
  } else if (kernel == "hbm_copy") {
    array = kCopyBytes;
  }
  Add(out, OpName::kPointwise,
      Pointwise{.read = Bytes(std::llround(read * array)),
                .written = Bytes(std::llround(written * array))});
  out.seconds = (read + written) * array / (rate * 1e9);
  out.kernel_class = KernelClass::kMemoryBound;
  return absl::OkStatus();
}

// The ops of one layer that LLMCompass timed one by one: GPT-3 175B on one of
// four ranks, so a hidden size of 12288 and as wide a GELU.
absl::Status ReadLayerOp(const MeasurementRow& row, const std::string& op,
                         KernelRow& out) {
  constexpr double kHidden = 12288;
  ASSIGN_OR_RETURN(const FusedAttention a, ReadHeads(row, DType::kFp16));
  const int64_t heads = a.batch * a.query_heads;
  const double tokens = static_cast<double>(a.batch * a.queries);
  const auto product = [&](int64_t n, int64_t k) {
    return Gemm{.m = a.queries,
                .n = n,
                .k = k,
                .batch = heads,
                .operand = DType::kFp16,
                .output = DType::kFp16};
  };
  out.kernel_class = KernelClass::kMemoryBound;
  if (op == "Q_mul_K") {
    Add(out, OpName::kScores, product(a.keys, a.head_dimension));
    out.kernel_class = KernelClass::kGemm;
  } else if (op == "A_mul_V") {
    Add(out, OpName::kScoresTimesValues, product(a.head_dimension, a.keys));
    out.kernel_class = KernelClass::kGemm;
  } else if (op == "Softmax") {
    Add(out, OpName::kSoftmax,
        Rows(Pointwise::Kind::kSoftmax, static_cast<double>(heads * a.queries),
             static_cast<double>(a.keys), kSoftmaxFlops));
  } else if (absl::StartsWith(op, "LayerNorm")) {
    Add(out, OpName::kNorm,
        Rows(Pointwise::Kind::kNorm, tokens, kHidden, kNormFlops));
  } else if (op == "GeLU") {
    Add(out, OpName::kMlpActivation,
        Rows(Pointwise::Kind::kElementwise, tokens, kHidden, kGeluFlops));
  } else {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is a collective, not a kernel", op));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KernelRow> ReadKernelRow(const MeasurementRow& row) {
  KernelRow out;
  const std::string kernel = row.Text("kernel");
  ASSIGN_OR_RETURN(const DType dtype, row.Format("dtype"));
  out.what = kernel;
  if (const auto direction = row.Get("direction")) out.what += " " + *direction;
  out.what += fmt::format(" {}", Name(dtype));
  absl::string_view layer_op = kernel;
  if (kernel == "gemm") {
    RETURN_IF_ERROR(ReadGemm(row, dtype, out));
  } else if (kernel == "grouped_gemm") {
    RETURN_IF_ERROR(ReadGrouped(row, dtype, out));
    out.kernel_class = KernelClass::kGroupedGemm;
  } else if (kernel == "attention") {
    RETURN_IF_ERROR(ReadAttention(row, dtype, out));
  } else if (kernel == "mla_attention") {
    RETURN_IF_ERROR(ReadLatent(row, dtype, out));
  } else if (kernel == "softmax" || kernel == "layernorm" || kernel == "gelu") {
    RETURN_IF_ERROR(ReadPointwise(row, kernel, out));
  } else if (absl::StartsWith(kernel, "stream_") || kernel == "hbm_copy") {
    RETURN_IF_ERROR(ReadStream(row, kernel, out));
    return out;
  } else if (absl::ConsumePrefix(&layer_op, "transformer_op:")) {
    RETURN_IF_ERROR(ReadLayerOp(row, std::string(layer_op), out));
  } else {
    return row.Wrong("kernel",
                     "gemm, grouped_gemm, attention, mla_attention, softmax, "
                     "layernorm, gelu, stream_*, hbm_copy or transformer_op:*");
  }
  for (const Op& op : out.ops) RETURN_IF_ERROR(CheckSize(op));
  ASSIGN_OR_RETURN(const double microseconds, row.Positive("time_us"));
  out.seconds = microseconds * 1e-6;
  return out;
}

}  // namespace orrery
