// What stands before the first and after the last layer.
#include <cstdint>
#include <utility>

#include "workload/model/layer_builder.h"

namespace orrery {
namespace {

// Operations per logit of a softmax cross-entropy, forward and backward.
constexpr double kLossFlops = 7;
constexpr double kLossGradientFlops = 2;
// Vocabulary-parallel cross-entropy exchanges the maximum, the logit of the
// target and the sum of exponentials of each position (Megatron-LM).
constexpr int kLossExchanges = 3;
// Its passes over the logits: those read and written by the maximum, the
// difference, the exponential, the sum and the quotient.
constexpr std::pair<int64_t, int64_t> kLossParts[] = {
    {1, 0}, {1, 1}, {1, 1}, {1, 0}, {1, 1}};

void AddNorm(LayerBuilder& b, int64_t rows, ModuleSet modules) {
  b.BeginModule(modules);
  b.Norm(rows, b.model().hidden(), /*residual=*/false);
  b.Keep("norm_input", rows * b.model().hidden(), b.shape().activation,
         kNoModule, /*layer_input=*/true);
}

// One-hot rows times the table, and their transpose times the gradient.
void AddEmbeddingProduct(LayerBuilder& b) {
  const LayerShape& shape = b.shape();
  const int64_t vocabulary =
      (b.model().vocabulary() + shape.tensor - 1) / shape.tensor;
  b.Forward(OpName::kEmbedding, Gemm{.m = b.tokens(),
                                     .n = b.model().hidden(),
                                     .k = vocabulary,
                                     .operand = shape.activation,
                                     .output = shape.activation});
  b.WeightGradient(OpName::kEmbedding, Gemm{.m = vocabulary,
                                            .n = b.model().hidden(),
                                            .k = b.tokens(),
                                            .operand = shape.activation,
                                            .output = shape.gradient,
                                            .accumulate = true});
}

// Of the rank's part of the table and of the head.
LayerShape EndsShape(LayerShape shape) {
  if (shape.whole_ends) shape.tensor = 1;
  return shape;
}

LayerOps NotCheckpointed(LayerOps ops) {
  ops.checkpointed = false;
  return ops;
}

// Softmax cross-entropy in one kernel, and another for its gradient; or as
// PyTorch runs it: a cast to FP32, the logarithm of the softmax, and backward
// the two gradients and a cast.
void AddLoss(LayerBuilder& b, int64_t logits, int64_t vocabulary) {
  const LayerShape& shape = b.shape();
  const Bytes wide = StorageBytes(DType::kFp32, logits);
  const Bytes narrow = StorageBytes(shape.activation, logits);
  b.BeginModule();
  Pointwise loss = b.Elementwise(logits, 1, 0, kLossFlops);
  loss.kind = Pointwise::Kind::kSoftmax;
  loss.row = vocabulary;
  loss.written = wide;
  Pointwise gradient = b.Elementwise(logits, 0, 1, kLossGradientFlops);
  gradient.read = wide;
  if (shape.separate_loss && !shape.loss_in_parts) {
    b.Forward(OpName::kQuantize, Pointwise{.read = narrow, .written = wide});
    loss.read = wide;
    // The gradient of the picked logits is a tensor of zeros but for one in a
    // row; that of the softmax reads it beside what it kept.
    b.InputGradient(OpName::kLoss, Pointwise{.written = wide});
    gradient.read = wide * 2;
    gradient.written = wide;
  }
  if (shape.loss_in_parts) {
    gradient.written = wide;
    b.Forward(OpName::kQuantize, Pointwise{.read = narrow, .written = wide});
    for (const auto& [reads, writes] : kLossParts) {
      b.Forward(OpName::kLoss,
                Pointwise{.read = wide * reads, .written = wide * writes});
    }
  } else {
    b.Forward(OpName::kLoss, loss);
  }
  if (shape.tensor > 1) {
    for (int i = 0; i < kLossExchanges; ++i) {
      b.ForwardExchange(
          Exchange{.kind = ExchangeKind::kAllReduce,
                   .group = ExchangeGroup::kTensor,
                   .bytes = StorageBytes(DType::kFp32, b.tokens())});
    }
  }
  b.InputGradient(OpName::kLoss, gradient);
  b.Keep("logits", logits, DType::kFp32);
  if (!shape.separate_loss) return;
  b.InputGradient(OpName::kQuantize,
                  Pointwise{.read = wide, .written = narrow});
  b.Keep("softmax", logits, DType::kFp32);
  b.Keep("narrow_logits", logits, shape.activation);
}

}  // namespace

LayerOps BuildEmbedding(const Model& model, const LayerShape& split) {
  const LayerShape shape = EndsShape(split);
  LayerBuilder b(model, shape);
  const int64_t elements = b.tokens() * model.hidden();
  const bool learned = model.position() == PositionEncoding::kLearned;
  b.BeginModule();
  if (shape.embeds_by_product) {
    AddEmbeddingProduct(b);
  } else {
    // A row is read and written per token, not the whole table.
    b.Forward(OpName::kEmbedding,
              b.Elementwise(elements, learned ? 2 : 1, 1, learned ? 1 : 0));
  }
  b.ReduceTokensForward(model.hidden());
  b.GatherTokensInputGradient(model.hidden());
  if (!shape.embeds_by_product) {
    // Every token adds its gradient to a row.
    Pointwise scatter = b.Elementwise(elements, 1, 0, 1);
    scatter.read += StorageBytes(shape.gradient, elements);
    scatter.written += StorageBytes(shape.gradient, elements);
    b.WeightGradient(OpName::kEmbedding, scatter);
  }
  if (model.embedding_norm()) AddNorm(b, b.resident_tokens(), Module::kNorm);
  if (b.drops_out()) {
    const int64_t resident = b.resident_tokens() * model.hidden();
    b.BeginModule();
    Pointwise dropout = b.Elementwise(resident, 1, 1, 1);
    dropout.written += StorageBytes(DType::kInt8, resident);
    b.Forward(OpName::kDropout, dropout);
    Pointwise gradient = b.Elementwise(resident, 1, 1, 1);
    gradient.read += StorageBytes(DType::kInt8, resident);
    b.InputGradient(OpName::kDropout, gradient);
    b.Keep("dropout_mask", resident, DType::kInt8);
  }
  return NotCheckpointed(std::move(b).Build());
}

LayerOps BuildHead(const Model& model, const LayerShape& split) {
  const LayerShape shape = EndsShape(split);
  LayerBuilder b(model, shape, shape.logits());
  const int64_t vocabulary =
      (model.vocabulary() + shape.tensor - 1) / shape.tensor;
  const int64_t hidden = model.hidden();
  const LayerBuilder::LinearShape linear{
      OpName::kHead, b.tokens(), vocabulary, hidden, model.head_bias(),
      /*wide=*/true};
  if (model.final_norm()) AddNorm(b, b.resident_tokens(), Module::kNorm);
  b.BeginModule();
  b.GatherTokensForward(hidden);
  b.LinearForward(linear);
  b.LinearInputGradient(linear);
  b.ReduceTokensInputGradient(hidden);
  b.GatherTokensWeightGradient(hidden);
  b.LinearWeightGradient(linear);
  b.KeepLinearInput("head_input", b.kept_tokens(), hidden, Module::kNorm,
                    linear.wide);
  const int64_t logits = b.tokens() * vocabulary;
  if (!b.trains()) {
    // Whoever samples needs the whole vocabulary.
    if (shape.tensor > 1) {
      b.ForwardExchange(Exchange{
          .kind = ExchangeKind::kAllGather,
          .group = ExchangeGroup::kTensor,
          .bytes = StorageBytes(shape.activation, logits * shape.tensor)});
    }
    // The most likely tokens, or a draw from them: one pass over the logits,
    // one over what is left.
    Pointwise sample = b.Elementwise(logits * shape.tensor, 1, 0, kLossFlops);
    sample.kind = Pointwise::Kind::kSoftmax;
    sample.row = model.vocabulary();
    sample.launches = 2;
    b.BeginModule();
    b.Forward(OpName::kSample, sample);
    return NotCheckpointed(std::move(b).Build());
  }

  AddLoss(b, logits, vocabulary);
  return NotCheckpointed(std::move(b).Build());
}

LayerOps BuildPredictionInput(const Model& model, const LayerShape& shape) {
  LayerBuilder b(model, shape);
  const int64_t hidden = model.hidden();
  const int64_t rows = b.resident_tokens();
  const LayerBuilder::LinearShape linear{OpName::kPredictionProjection,
                                         b.tokens(), hidden / shape.tensor,
                                         2 * hidden};
  AddNorm(b, rows, Module::kNorm);
  AddNorm(b, rows, Module::kNorm);
  b.BeginModule();
  b.GatherTokensForward(2 * hidden);
  b.LinearForward(linear);
  if (shape.tensor > 1) {
    // The projection's columns lie on different ranks.
    b.ForwardExchange(
        Exchange{.kind = ExchangeKind::kAllGather,
                 .group = ExchangeGroup::kTensor,
                 .bytes = StorageBytes(shape.activation, b.tokens() * hidden)});
  }
  b.LinearInputGradient(linear);
  b.ReduceTokensInputGradient(2 * hidden);
  b.GatherTokensWeightGradient(2 * hidden);
  b.LinearWeightGradient(linear);
  b.KeepLinearInput("projection_input", rows, 2 * hidden, Module::kNorm);
  return std::move(b).Build();
}

}  // namespace orrery
