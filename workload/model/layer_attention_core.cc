// The core of attention: flash or unfused, on one rank or over context ranks.
#include <algorithm>

#include "workload/model/layer_builder.h"

namespace orrery {
namespace {

// Operations per score of a softmax, forward and backward
// (gkarfakis19/Rapid-LLM counts).
constexpr double kSoftmaxFlops = 7;
constexpr double kSoftmaxGradientFlops = 4;

// What this rank's core works on, before context parallelism: its heads, all
// its queries, every key.
FusedAttention CoreShape(const LayerBuilder& b, int layer) {
  const Attention& a = b.model().attention();
  const LayerShape& shape = b.shape();
  const bool latent = a.is_latent() && shape.absorb_latent;
  FusedAttention core{
      .batch = shape.sequences,
      .query_heads = a.heads / shape.tensor,
      .kv_heads = std::max(1, a.kv_heads / shape.tensor),
      .queries = shape.queries,
      .keys = shape.cached + shape.queries,
      .head_dimension = a.score_head_dimension(),
      .value_dimension = a.value_head_dimension,
      .mask = shape.causal ? Mask::kCausal : Mask::kFull,
      .window = b.model().Window(layer).value_or(0),
      .operand = shape.activation,
      .cache = shape.write_cache ? shape.cache : shape.activation,
  };
  if (latent) {
    core.kv_heads = 1;
    core.head_dimension = a.kv_rank + a.rope_dimension;
    core.value_dimension = a.kv_rank;
    core.shared_key_value = true;
  }
  return core;
}

int64_t KeyValueWidth(const FusedAttention& core) {
  return int64_t{core.kv_heads} *
         (core.head_dimension +
          (core.shared_key_value ? 0 : core.value_dimension));
}

void AddFlash(LayerBuilder& b, FusedAttention core) {
  b.Forward(OpName::kAttention, core);
  core.backward = true;
  b.InputGradient(OpName::kAttention, core);
}

// One op per block of keys that comes around the ring. With balanced chunks a
// rank's queries see half of every block but their own, of which the causal
// half: together q (s + 1) / 2 pairs.
void AddRingFlash(LayerBuilder& b, FusedAttention core) {
  const LayerShape& shape = b.shape();
  const int64_t block_keys = core.keys / shape.context;
  core.queries /= shape.context;
  const int64_t elements = shape.sequences * block_keys * KeyValueWidth(core);
  Exchange ring{.kind = ExchangeKind::kRing,
                .group = ExchangeGroup::kContext,
                .bytes = StorageBytes(shape.activation, elements),
                .steps = shape.context - 1};
  b.ForwardExchange(ring);
  // Backward the gradients of keys and values travel along, in FP32.
  ring.bytes += StorageBytes(DType::kFp32, elements);
  b.InputGradientExchange(ring);
  b.BesideExchange(true);
  FusedAttention own = core;
  own.keys = block_keys;
  AddFlash(b, own);
  b.BesideExchange(false);
  FusedAttention other = core;
  other.mask = Mask::kFull;
  other.keys = shape.causal ? std::max<int64_t>(1, block_keys / 2) : block_keys;
  for (int step = 1; step < shape.context; ++step) AddFlash(b, other);
}

void AddGatheredFlash(LayerBuilder& b, FusedAttention core) {
  const LayerShape& shape = b.shape();
  const Exchange gather{
      .kind = ExchangeKind::kAllGather,
      .group = ExchangeGroup::kContext,
      .bytes = StorageBytes(shape.activation,
                            shape.sequences * core.keys * KeyValueWidth(core))};
  core.queries /= shape.context;
  if (core.mask == Mask::kCausal) core.mask = Mask::kCausalBalanced;
  b.ForwardExchange(gather);
  b.InputGradientExchange(gather);
  AddFlash(b, core);
  Exchange scatter = gather;
  scatter.kind = ExchangeKind::kReduceScatter;
  b.InputGradientExchange(scatter);
}

// Ulysses (arXiv 2309.14509): all-to-all turns a share of the tokens with all
// heads into all tokens with a share of the heads, and back.
void AddUlyssesFlash(LayerBuilder& b, FusedAttention core) {
  const LayerShape& shape = b.shape();
  const int64_t query_width = int64_t{core.query_heads} * core.head_dimension;
  const int64_t output_width = int64_t{core.query_heads} * core.value_dimension;
  const auto all_to_all = [&](int64_t width) {
    return Exchange{
        .kind = ExchangeKind::kAllToAll,
        .group = ExchangeGroup::kContext,
        .bytes = StorageBytes(shape.activation, b.tokens() * width)};
  };
  const Exchange inputs = all_to_all(query_width + KeyValueWidth(core));
  const Exchange outputs = all_to_all(output_width);
  core.query_heads /= shape.context;
  core.kv_heads = std::max(1, core.kv_heads / shape.context);
  b.ForwardExchange(inputs);
  b.InputGradientExchange(outputs);
  AddFlash(b, core);
  b.ForwardExchange(outputs);
  b.InputGradientExchange(inputs);
}

// Scores, softmax and values with the score matrix in memory. All keys are
// computed; the mask only hides them.
void AddUnfused(LayerBuilder& b, const FusedAttention& core) {
  const LayerShape& shape = b.shape();
  const bool dropout = b.model().dropout();
  const int64_t queries = core.queries / shape.context;
  const int64_t scores = core.batch * core.query_heads * queries * core.keys;
  // Query heads that share keys stand below one another.
  const int64_t rows = queries * (core.query_heads / core.kv_heads);
  const auto product = [&](int64_t m, int64_t n, int64_t k) {
    return Gemm{.m = m,
                .n = n,
                .k = k,
                .batch = core.batch * core.kv_heads,
                .operand = shape.activation,
                .output = shape.activation};
  };
  const int64_t d = core.head_dimension;
  const int64_t v = core.value_dimension;
  const bool fused = shape.fusion != Fusion::kNone;
  const auto softmax = [&](double reads, double writes, double flops) {
    Pointwise work = b.Elementwise(scores, reads, writes, flops);
    work.kind = Pointwise::Kind::kSoftmax;
    work.row = core.keys;
    return work;
  };
  Pointwise mask = b.Elementwise(scores, 1, 1, 1);
  mask.written += StorageBytes(DType::kInt8, scores);

  b.Forward(OpName::kScores, product(rows, core.keys, d));
  if (!fused) b.Forward(OpName::kPointwise, b.Elementwise(scores, 1, 1, 2));
  b.Forward(OpName::kSoftmax, softmax(1, 1, kSoftmaxFlops));
  if (dropout) b.Forward(OpName::kDropout, mask);
  b.Forward(OpName::kScoresTimesValues, product(rows, v, core.keys));

  b.InputGradient(OpName::kScoresTimesValues, product(rows, core.keys, v));
  b.InputGradient(OpName::kScoresTimesValues, product(core.keys, v, rows));
  if (dropout) b.InputGradient(OpName::kDropout, mask);
  b.InputGradient(OpName::kSoftmax, softmax(2, 1, kSoftmaxGradientFlops));
  if (!fused) {
    b.InputGradient(OpName::kPointwise, b.Elementwise(scores, 1, 1, 2));
  }
  b.InputGradient(OpName::kScores, product(rows, d, core.keys));
  b.InputGradient(OpName::kScores, product(core.keys, d, rows));

  b.Keep("softmax_output", scores, shape.activation, Module::kAttentionCore);
  if (dropout) {
    b.Keep("attention_dropout_mask", scores, DType::kInt8,
           Module::kAttentionCore);
    b.Keep("attention_dropout_output", scores, shape.activation,
           Module::kAttentionCore);
  }
}

}  // namespace

void AddAttentionCore(LayerBuilder& b, int layer) {
  const LayerShape& shape = b.shape();
  const FusedAttention core = CoreShape(b, layer);
  const ModuleSet up = b.model().attention().is_latent()
                           ? ModuleSet(Module::kLatentUp)
                           : kNoModule;
  b.BeginModule(Module::kAttentionCore);
  b.Keep("queries", b.tokens() * core.query_heads * core.head_dimension,
         shape.activation, up);
  b.Keep("keys", b.tokens() * core.kv_heads * core.head_dimension,
         shape.activation, up);
  b.Keep("values", b.tokens() * core.kv_heads * core.value_dimension,
         shape.activation, up);
  if (shape.attention == AttentionKernel::kUnfused) {
    AddUnfused(b, core);
    return;
  }
  b.Keep("log_sum_exp", b.tokens() * core.query_heads, DType::kFp32,
         Module::kAttentionCore);
  if (shape.context == 1) {
    AddFlash(b, core);
    return;
  }
  switch (shape.context_method) {
    case ContextMethod::kRing:
      AddRingFlash(b, core);
      break;
    case ContextMethod::kAllGather:
      AddGatheredFlash(b, core);
      break;
    case ContextMethod::kUlysses:
      AddUlyssesFlash(b, core);
      break;
  }
}

}  // namespace orrery
