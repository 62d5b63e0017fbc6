// The attention block around its core: norm, projections, rotary, output.
#include <algorithm>

#include "workload/model/kv_cache.h"
#include "workload/model/layer_builder.h"

namespace orrery {
namespace {

// Operations per element of a rotation: two products and a sum.
constexpr double kRotaryFlops = 3;

void AddQueryKeyValue(LayerBuilder& b) {
  const Model& model = b.model();
  const Attention& a = model.attention();
  const int tensor = b.shape().tensor;
  const int64_t kv_heads = std::max(1, a.kv_heads / tensor);
  const int64_t outputs[] = {a.query_width() / tensor,
                             kv_heads * a.score_head_dimension(),
                             kv_heads * a.value_head_dimension};
  const LayerBuilder::LinearShape linear{
      .name = OpName::kQueryKeyValue,
      .rows = b.tokens(),
      .outputs = outputs[0] + outputs[1] + outputs[2],
      .inputs = model.hidden(),
      .bias = a.qkv_bias};
  b.BeginModule();
  b.GatherTokensForward(model.hidden());
  b.SideBySideForward(linear, outputs);
  if (b.shape().fusion == Fusion::kNone && !b.shape().products_apart) {
    // The gradients of queries, keys and values are put into one tensor.
    b.InputGradient(OpName::kQueryKeyValue,
                    b.Elementwise(b.tokens() * linear.outputs, 1, 1, 0));
  }
  b.SideBySideInputGradient(linear, outputs);
  b.ReduceTokensInputGradient(model.hidden());
  b.GatherTokensWeightGradient(model.hidden());
  b.SideBySideWeightGradient(linear, outputs);
  b.KeepLinearInput("query_key_value_input", b.kept_tokens(), model.hidden(),
                    Module::kNorm);
}

// Rotation of queries and keys in place, and the new keys and values on their
// way to the cache.
void AddRotary(LayerBuilder& b) {
  const Attention& a = b.model().attention();
  const LayerShape& shape = b.shape();
  const int64_t heads = a.heads / shape.tensor;
  const int64_t kv_heads = std::max(1, a.kv_heads / shape.tensor);
  b.BeginModule();
  const bool fused = WritesCache(shape.purpose) && shape.fuse_rotary;
  if (a.qk_norm) {
    const int64_t rows = b.tokens() * (heads + kv_heads);
    b.Norm(rows, a.head_dimension, /*residual=*/false);
    b.Keep("head_norm_input", rows * a.head_dimension, shape.activation);
  }
  if (fused) return;
  if (b.model().position() == PositionEncoding::kRotary) {
    // Latent attention rotates a part of each head and one key for all.
    const int64_t width = a.is_latent() ? (heads + 1) * a.rope_dimension
                                        : (heads + kv_heads) * a.head_dimension;
    Pointwise rotation = b.Elementwise(b.tokens() * width, 1, 1, kRotaryFlops);
    if (shape.fusion == Fusion::kNone ||
        (a.scaled_rotation && b.fuses_by_hand())) {
      // Of queries and of keys: half a turn (a copy), two products, a sum.
      rotation = b.Elementwise(b.tokens() * width, 5, 4, kRotaryFlops);
      rotation.launches = 8;
    }
    if (b.trains() && shape.complex_rotation) {
      // Of queries and of keys: a copy in FP32, the product, the cast back.
      rotation = b.Elementwise(b.tokens() * width, 5, 5, kRotaryFlops);
      rotation.launches = 6;
    }
    b.Forward(OpName::kRotary, rotation);
    b.InputGradient(OpName::kRotary, rotation);
  }
  if (WritesCache(shape.purpose)) {
    const int64_t elements =
        b.tokens() * KvCacheElementsPerTokenAndLayer(b.model(), shape.tensor);
    Pointwise write = b.Elementwise(elements, 1, 0, 0);
    write.written = StorageBytes(shape.cache, elements);
    b.Forward(OpName::kCacheWrite, write);
  }
}

void AddOutput(LayerBuilder& b) {
  const Model& model = b.model();
  const Attention& a = model.attention();
  const int64_t inputs = a.output_width() / b.shape().tensor;
  const LayerBuilder::LinearShape linear{.name = OpName::kAttentionOutput,
                                         .rows = b.tokens(),
                                         .outputs = model.hidden(),
                                         .inputs = inputs,
                                         .bias = a.output_bias};
  // In a parallel block the MLP's output is added before ranks are summed.
  const bool alone = !model.parallel_block();
  b.BeginModule();
  b.ForOutput(!alone && !b.has_post_norm());
  b.LinearForward(linear);
  b.ForOutput(false);
  if (alone) b.ReduceTokensForward(model.hidden());
  if (alone) b.GatherTokensInputGradient(model.hidden());
  b.LinearInputGradient(linear);
  b.LinearWeightGradient(linear);
  // The attention core needs its output again, and so does the projection.
  const int64_t elements = b.tokens() * inputs;
  if (b.shape().kept.attention_output) {
    b.KeepAs("attention_output", elements, *b.shape().kept.attention_output);
    return;
  }
  b.Keep("attention_output", elements, b.shape().activation);
  if (b.Narrow()) {
    b.KeepLinearInput("attention_output_operand", b.tokens(), inputs);
  }
}

// Rows of latent attention on this rank: new tokens of groups that stay in the
// compressed space, and latents that are expanded to heads for the others. What
// they have in the cache are latents too.
struct LatentRows {
  int64_t absorbed = 0;
  int64_t expanded = 0;
};

LatentRows LatentRowsOf(const LayerShape& shape) {
  LatentRows rows;
  for (const SequenceGroup& g : shape.groups) {
    if (AbsorbsLatent(shape.purpose, g)) {
      rows.absorbed += g.count * g.queries / shape.context;
    } else {
      rows.expanded += g.count * (g.queries + g.cached) / shape.context;
    }
  }
  return rows;
}

// Compressed products of all heads with a weight of their own each.
Gemm PerHead(const LayerBuilder& b, int64_t rows, int64_t n, int64_t k) {
  const Attention& a = b.model().attention();
  return Gemm{.m = rows,
              .n = n,
              .k = k,
              .batch = a.heads / b.shape().tensor,
              .operand = b.shape().activation,
              .output = b.shape().activation};
}

}  // namespace

// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1): the
// down-projections are on every tensor rank, so with sequence parallelism the
// narrow latents are gathered instead of the tokens.
void AddLatentProjections(LayerBuilder& b) {
  const Model& model = b.model();
  const Attention& a = model.attention();
  const int64_t hidden = model.hidden();
  const int64_t heads = a.heads / b.shape().tensor;
  const int64_t rows = b.resident_tokens();
  const int64_t latent = a.kv_rank + a.rope_dimension;
  const bool compressed_query = a.query_rank > 0;

  b.BeginModule();
  const LayerBuilder::LinearShape kv_down{OpName::kKeyValueDown, rows, latent,
                                          hidden, a.qkv_bias};
  const LayerBuilder::LinearShape query_down{OpName::kQueryDown, rows,
                                             a.query_rank, hidden, a.qkv_bias};
  b.LinearForward(kv_down);
  if (compressed_query) b.LinearForward(query_down);
  if (compressed_query) b.LinearInputGradient(query_down);
  b.LinearInputGradient(kv_down);
  if (compressed_query) b.LinearWeightGradient(query_down);
  b.LinearWeightGradient(kv_down);
  b.KeepLinearInput("latent_down_input", rows, hidden, Module::kNorm);

  b.BeginModule(Module::kNorm);
  b.Norm(rows, a.kv_rank, /*residual=*/false);
  if (compressed_query) b.Norm(rows, a.query_rank, /*residual=*/false);
  b.Keep("latent_norm_input", rows * (a.kv_rank + a.query_rank),
         b.shape().activation);

  b.BeginModule(Module::kLatentUp);
  const int64_t gathered = latent + (compressed_query ? a.query_rank : hidden);
  const int64_t query_inputs = compressed_query ? a.query_rank : hidden;
  const LayerBuilder::LinearShape query_up{OpName::kQueryUp, b.tokens(),
                                           heads * a.score_head_dimension(),
                                           query_inputs, a.qkv_bias};
  const LatentRows latents = LatentRowsOf(b.shape());
  const LayerBuilder::LinearShape kv_up{
      OpName::kKeyValueUp, latents.expanded,
      heads * (a.head_dimension + a.value_head_dimension), a.kv_rank,
      a.qkv_bias};
  b.GatherTokensForward(gathered);
  b.LinearForward(query_up);
  if (latents.absorbed > 0) {
    b.Forward(OpName::kQueryAbsorb,
              PerHead(b, latents.absorbed, a.kv_rank, a.head_dimension));
  }
  if (latents.expanded > 0) b.LinearForward(kv_up);
  b.LinearInputGradient(kv_up);
  b.LinearInputGradient(query_up);
  b.ReduceTokensInputGradient(gathered);
  b.GatherTokensWeightGradient(gathered);
  b.LinearWeightGradient(kv_up);
  b.LinearWeightGradient(query_up);
  b.KeepLinearInput("latent_up_input", rows, a.kv_rank + a.query_rank,
                    Module::kNorm);
}

void AddAttention(LayerBuilder& b, int layer) {
  const Model& model = b.model();
  const Attention& a = model.attention();
  b.BeginModule(Module::kNorm);
  b.Norm(b.resident_tokens(), model.hidden(), /*residual=*/true);
  b.Keep("norm_input", b.resident_tokens() * model.hidden(),
         b.shape().activation, kNoModule, /*layer_input=*/true);
  if (a.is_latent()) {
    AddLatentProjections(b);
  } else {
    AddQueryKeyValue(b);
  }
  AddRotary(b);
  AddAttentionCore(b, layer);
  const int64_t absorbed = a.is_latent() ? LatentRowsOf(b.shape()).absorbed : 0;
  if (absorbed > 0) {
    b.BeginModule();
    b.Forward(OpName::kValueAbsorb,
              PerHead(b, absorbed, a.value_head_dimension, a.kv_rank));
  }
  AddOutput(b);
}

}  // namespace orrery
