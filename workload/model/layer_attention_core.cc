// The core of attention: flash or unfused, on one rank or over context ranks.
// Every group of sequences has a kernel of its own, and over context ranks
// exchanges of its own.
#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "workload/model/layer_builder.h"

namespace orrery {
namespace {

// Whether heads that share keys and values get copies of their own.
bool RepeatsKeyValues(const LayerBuilder& b) {
  const Attention& a = b.model().attention();
  return b.trains() && b.shape().repeats_key_values && !a.is_latent() &&
         a.kv_heads < a.heads;
}

// Operations per score of a softmax, forward and backward
// (gkarfakis19/Rapid-LLM counts).
constexpr double kSoftmaxFlops = 7;
constexpr double kSoftmaxGradientFlops = 4;

// Key and value heads of this rank as attention gets them.
int KeyValueHeads(const LayerBuilder& b) {
  const Attention& a = b.model().attention();
  const int tensor = b.shape().tensor;
  return RepeatsKeyValues(b) ? a.heads / tensor
                             : std::max(1, a.kv_heads / tensor);
}

// What this rank's core does for a group, before context parallelism: its
// heads, all queries, every key.
FusedAttention CoreShape(const LayerBuilder& b, int layer,
                         const SequenceGroup& group) {
  const Attention& a = b.model().attention();
  const LayerShape& shape = b.shape();
  const bool absorbed = a.is_latent() && AbsorbsLatent(shape.purpose, group);
  // Expanded latents are not what the cache holds.
  const bool from_cache =
      WritesCache(shape.purpose) && (absorbed || !a.is_latent());
  FusedAttention core{
      .batch = group.count,
      .query_heads = a.heads / shape.tensor,
      .kv_heads = KeyValueHeads(b),
      .queries = group.queries,
      .keys = group.cached + group.queries,
      .head_dimension = a.score_head_dimension(),
      .value_dimension = a.value_head_dimension,
      .mask = shape.causal ? Mask::kCausal : Mask::kFull,
      .window = b.model().Window(layer).value_or(0),
      .operand = shape.activation,
      .cache = from_cache ? shape.cache : shape.activation,
  };
  if (shape.ungrouped_decode && !absorbed && Decodes(shape.purpose, group)) {
    core.ungrouped = core.kv_heads < core.query_heads;
  }
  if (absorbed) {
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

// Scores, softmax and values with the score matrix in memory, for the queries
// and heads of `core`. All keys are computed; the mask only hides them. Where
// keys come around a ring, every product over them is one per block: keys go
// around for the scores and values for the output, backward the other way, with
// their FP32 gradients (ring self-attention, arXiv 2105.13120, section 3.2).
class UnfusedCore {
 public:
  UnfusedCore(LayerBuilder& b, const FusedAttention& core, int blocks)
      : b_(b),
        core_(core),
        blocks_(blocks),
        // Query heads that share keys stand below one another.
        batch_(std::gcd(core.query_heads, core.kv_heads)),
        rows_(core.queries * (core.query_heads / batch_)),
        keys_(core.keys / blocks),
        scores_(core.batch * core.query_heads * core.queries * core.keys) {}

  void Add() {
    const int64_t d = core_.head_dimension;
    const int64_t v = core_.value_dimension;
    const bool dropout = b_.drops_out();
    const bool fused = b_.shape().fusion != Fusion::kNone;
    const Pointwise scale = b_.Elementwise(scores_, 1, 1, 2);
    Pointwise mask = b_.Elementwise(scores_, 1, 1, 1);
    mask.written += StorageBytes(DType::kInt8, scores_);

    PassAround(d, /*backward=*/false);
    Forward(OpName::kScores, Product(rows_, keys_, d));
    if (!fused) b_.Forward(OpName::kPointwise, scale);
    b_.Forward(OpName::kSoftmax, Softmax(1, 1, kSoftmaxFlops));
    if (dropout) b_.Forward(OpName::kDropout, mask);
    PassAround(v, /*backward=*/false);
    Forward(OpName::kScoresTimesValues, Product(rows_, v, keys_));

    PassAround(v, /*backward=*/true);
    FromRing(OpName::kScoresTimesValues, Product(rows_, keys_, v));
    FromHere(OpName::kScoresTimesValues, Product(keys_, v, rows_));
    if (dropout) b_.InputGradient(OpName::kDropout, mask);
    b_.InputGradient(OpName::kSoftmax, Softmax(2, 1, kSoftmaxGradientFlops));
    if (!fused) b_.InputGradient(OpName::kPointwise, scale);
    PassAround(d, /*backward=*/true);
    FromRing(OpName::kScores, Product(rows_, d, keys_));
    FromHere(OpName::kScores, Product(keys_, d, rows_));
  }

  void Keep() {
    const DType activation = b_.shape().activation;
    b_.Keep("softmax_output", scores_, activation, Module::kAttentionCore);
    if (!b_.drops_out()) return;
    b_.Keep("attention_dropout_mask", scores_, DType::kInt8,
            Module::kAttentionCore);
    b_.Keep("attention_dropout_output", scores_, activation,
            Module::kAttentionCore);
  }

 private:
  Gemm Product(int64_t m, int64_t n, int64_t k) const {
    return Gemm{.m = m,
                .n = n,
                .k = k,
                .batch = core_.batch * batch_,
                .operand = b_.shape().activation,
                .output = b_.shape().activation};
  }
  Pointwise Softmax(double reads, double writes, double flops) const {
    Pointwise work = b_.Elementwise(scores_, reads, writes, flops);
    work.kind = Pointwise::Kind::kSoftmax;
    work.row = core_.keys;
    return work;
  }

  // Sends blocks of keys or of values, of this width per head, around the ring.
  void PassAround(int64_t width, bool backward) {
    if (blocks_ == 1) return;
    const int64_t elements = core_.batch * keys_ * core_.kv_heads * width;
    Exchange ring{.kind = ExchangeKind::kRing,
                  .group = ExchangeGroup::kContext,
                  .bytes = StorageBytes(b_.shape().activation, elements),
                  .steps = blocks_ - 1};
    if (!backward) return b_.ForwardExchange(ring);
    ring.bytes += StorageBytes(DType::kFp32, elements);
    b_.InputGradientExchange(ring);
  }
  // A product with each block that comes around, first with the rank's own.
  void Forward(OpName name, const Gemm& product) {
    for (int block = 0; block < blocks_; ++block) {
      b_.BesideExchange(blocks_ > 1 && block == 0);
      b_.Forward(name, product);
    }
  }
  void FromRing(OpName name, const Gemm& product) {
    for (int block = 0; block < blocks_; ++block) {
      b_.BesideExchange(blocks_ > 1 && block == 0);
      b_.InputGradient(name, product);
    }
  }
  // A product of what this rank has for each block.
  void FromHere(OpName name, const Gemm& product) {
    for (int block = 0; block < blocks_; ++block) {
      b_.InputGradient(name, product);
    }
  }

  LayerBuilder& b_;
  const FusedAttention core_;
  int blocks_;
  int32_t batch_;
  int64_t rows_;
  int64_t keys_;
  int64_t scores_;
};

void AddUnfused(LayerBuilder& b, const FusedAttention& core, int blocks = 1) {
  UnfusedCore unfused(b, core, blocks);
  unfused.Add();
  unfused.Keep();
}

bool IsUnfused(const LayerBuilder& b) {
  return b.shape().attention == AttentionKernel::kUnfused;
}

// The core on a rank that has all the queries and keys it attends with.
void AddKernel(LayerBuilder& b, const FusedAttention& core) {
  if (IsUnfused(b)) return AddUnfused(b, core);
  AddFlash(b, core);
}

// One op per block of keys that comes around the ring. With balanced chunks a
// rank's queries see half the new keys of every block but their own, of which
// the causal half: together q (s + 1) / 2 pairs. Cached keys they see all.
void AddRing(LayerBuilder& b, FusedAttention core) {
  const LayerShape& shape = b.shape();
  core.queries /= shape.context;
  if (IsUnfused(b)) return AddUnfused(b, core, shape.context);
  const int64_t block_keys = core.keys / shape.context;
  const int64_t cached_keys = block_keys - core.queries;
  const int64_t elements = core.batch * block_keys * KeyValueWidth(core);
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
  other.keys = shape.causal
                   ? cached_keys + std::max<int64_t>(1, core.queries / 2)
                   : block_keys;
  for (int step = 1; step < shape.context; ++step) AddFlash(b, other);
}

void AddGathered(LayerBuilder& b, FusedAttention core) {
  const LayerShape& shape = b.shape();
  const Exchange gather{
      .kind = ExchangeKind::kAllGather,
      .group = ExchangeGroup::kContext,
      .bytes = StorageBytes(shape.activation,
                            core.batch * core.keys * KeyValueWidth(core))};
  b.ForwardExchange(gather);
  b.InputGradientExchange(gather);
  const int64_t cached = core.keys - core.queries;
  core.queries /= shape.context;
  const bool balances = core.mask == Mask::kCausal && !IsUnfused(b);
  if (balances && cached > 0) {
    // Balanced are only the new keys; cached ones are seen by all, in a kernel
    // of their own.
    FusedAttention past = core;
    past.mask = Mask::kFull;
    past.keys = cached;
    AddFlash(b, past);
    core.keys -= cached;
  }
  if (balances) core.mask = Mask::kCausalBalanced;
  AddKernel(b, core);
  Exchange scatter = gather;
  scatter.kind = ExchangeKind::kReduceScatter;
  b.InputGradientExchange(scatter);
}

// Ulysses (arXiv 2309.14509): all-to-all turns a share of the tokens with all
// heads into all tokens with a share of the heads, and back.
void AddUlysses(LayerBuilder& b, FusedAttention core) {
  const LayerShape& shape = b.shape();
  const int64_t query_width = int64_t{core.query_heads} * core.head_dimension;
  const int64_t output_width = int64_t{core.query_heads} * core.value_dimension;
  const auto all_to_all = [&](int64_t width) {
    return Exchange{
        .kind = ExchangeKind::kAllToAll,
        .group = ExchangeGroup::kContext,
        .bytes = StorageBytes(shape.activation, core.batch * core.queries /
                                                    shape.context * width)};
  };
  const Exchange inputs = all_to_all(query_width + KeyValueWidth(core));
  const Exchange outputs = all_to_all(output_width);
  core.query_heads /= shape.context;
  core.kv_heads = std::max(1, core.kv_heads / shape.context);
  b.ForwardExchange(inputs);
  b.InputGradientExchange(outputs);
  AddKernel(b, core);
  b.ForwardExchange(outputs);
  b.InputGradientExchange(inputs);
}

// What the gradient of the core needs again, but for the score matrix.
void KeepInputs(LayerBuilder& b) {
  const Attention& a = b.model().attention();
  const LayerShape& shape = b.shape();
  const ModuleSet up = a.is_latent() ? ModuleSet(Module::kLatentUp) : kNoModule;
  const int64_t heads = b.tokens() * (a.heads / shape.tensor);
  const int64_t kv_heads = b.tokens() * KeyValueHeads(b);
  b.Keep("queries", heads * a.score_head_dimension(), shape.activation, up);
  b.Keep("keys", kv_heads * a.score_head_dimension(), shape.activation, up);
  b.Keep("values", kv_heads * a.value_head_dimension, shape.activation, up);
  if (shape.attention == AttentionKernel::kFlash) {
    b.Keep("log_sum_exp", heads, DType::kFp32, Module::kAttentionCore);
  }
}

// Every rank attends to its part of the keys; then the parts are added up,
// weighted by the sums of their exponentials.
void AddSplitCache(LayerBuilder& b, FusedAttention core) {
  const LayerShape& shape = b.shape();
  const int64_t rows = core.batch * core.queries * core.query_heads;
  core.keys = (core.keys + shape.cache_split - 1) / shape.cache_split;
  core.keys = std::max(core.keys, core.queries);
  core.mask = Mask::kFull;
  b.Forward(OpName::kAttention, core);
  b.ForwardExchange(Exchange{
      .kind = ExchangeKind::kAllReduce,
      .group = ExchangeGroup::kContext,
      .bytes = StorageBytes(shape.activation, rows * core.value_dimension) +
               StorageBytes(DType::kFp32, rows)});
}

void AddCore(LayerBuilder& b, const FusedAttention& core) {
  const LayerShape& shape = b.shape();
  if (shape.cache_split > 1) {
    AddSplitCache(b, core);
    return;
  }
  if (shape.context == 1) {
    AddKernel(b, core);
    return;
  }
  CHECK(core.window == 0 || core.keys == core.queries ||
        shape.context_method == ContextMethod::kUlysses)
      << "cached tokens of a windowed layer over context ranks";
  switch (shape.context_method) {
    case ContextMethod::kRing:
      AddRing(b, core);
      break;
    case ContextMethod::kAllGather:
      AddGathered(b, core);
      break;
    case ContextMethod::kUlysses:
      AddUlysses(b, core);
      break;
  }
}

// Copies for every query head, and backward their sum.
void AddRepeats(LayerBuilder& b) {
  const Attention& a = b.model().attention();
  const int64_t copies = a.heads / a.kv_heads;
  const int64_t elements = b.tokens() * KeyValueHeads(b) *
                           (a.score_head_dimension() + a.value_head_dimension);
  const Pointwise repeated = b.Elementwise(elements, 0, 1, 0);
  const Pointwise shared = b.Elementwise(elements / copies, 0, 1, 0);
  b.BeginModule();
  b.Forward(OpName::kPointwise, Pointwise{.launches = 2,
                                          .read = shared.written,
                                          .written = repeated.written});
  b.InputGradient(OpName::kPointwise,
                  Pointwise{.launches = 2,
                            .read = repeated.written,
                            .written = shared.written,
                            .flops = static_cast<double>(elements)});
}

}  // namespace

void AddAttentionCore(LayerBuilder& b, int layer) {
  if (RepeatsKeyValues(b)) AddRepeats(b);
  b.BeginModule(Module::kAttentionCore);
  KeepInputs(b);
  for (const SequenceGroup& group : b.shape().groups) {
    AddCore(b, CoreShape(b, layer, group));
  }
}

}  // namespace orrery
