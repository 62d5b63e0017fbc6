#include "workload/model/layer_builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace orrery {
namespace {

// Operations per element, forward and backward, of the pointwise kernels
// (gkarfakis19/Rapid-LLM counts).
constexpr double kNormFlops = 7;
constexpr double kNormGradientFlops = 14;
constexpr double kCastFlops = 2;

// Steps of most layers, so that lists seldom grow.
constexpr size_t kUsualSteps = 24;

// From modules upwards to modules downwards; steps of one module keep their
// order.
void TurnAround(std::vector<LayerStep>& steps) {
  std::reverse(steps.begin(), steps.end());
  for (auto first = steps.begin(); first != steps.end();) {
    const auto last =
        std::find_if(first, steps.end(), [&](const LayerStep& step) {
          return step.module_index != first->module_index;
        });
    std::reverse(first, last);
    first = last;
  }
}

// What an op leaves behind where its output is kept and it does not run again
// (torchtitan, parallelize_llama.py: of products every second one).
std::optional<Bytes> KeptOutput(const Op& op, int& products) {
  if (const auto* core = std::get_if<FusedAttention>(&op.work)) {
    const int64_t rows = core->batch * core->query_heads * core->queries;
    return StorageBytes(core->operand, rows * core->value_dimension) +
           StorageBytes(DType::kFp32, rows);
  }
  const auto* product = std::get_if<Gemm>(&op.work);
  // A batch of products is another op of PyTorch, which is not kept.
  if (product == nullptr || product->batch > 1) return std::nullopt;
  if (++products % 2 == 0) return std::nullopt;
  return StorageBytes(product->output, product->m * product->n);
}

// Of exchanges: sums over tensor ranks that are scattered, and tokens that went
// to experts or came back.
std::optional<Bytes> KeptOutput(const Exchange& exchange,
                                const LayerShape& shape) {
  switch (exchange.kind) {
    case ExchangeKind::kReduceScatter:
      return Bytes(exchange.bytes.value() /
                   (exchange.group == ExchangeGroup::kExpertTensor
                        ? shape.expert_tensor
                        : shape.tensor));
    case ExchangeKind::kAllToAll:
      return exchange.bytes;
    case ExchangeKind::kAllReduce:
    case ExchangeKind::kAllGather:
    case ExchangeKind::kRing:
      return std::nullopt;
  }
  return std::nullopt;
}

void KeepPerOp(std::vector<LayerStep>& forward, const LayerShape& shape) {
  int products = 0;
  for (size_t i = 0; i < forward.size(); ++i) {
    LayerStep& step = forward[i];
    if (step.op() != nullptr) {
      step.kept_per_op = KeptOutput(*step.op(), products);
      continue;
    }
    step.kept_per_op = KeptOutput(*step.exchange(), shape);
    // What is only summed need not be there again.
    if (!step.kept_per_op || i == 0) continue;
    const Op* summed = forward[i - 1].op();
    if (summed != nullptr && std::holds_alternative<Gemm>(summed->work)) {
      forward[i - 1].kept_per_op = Bytes(0);
    }
  }
}

void CheckShape(const LayerShape& shape) {
  const bool trains = Trains(shape.purpose);
  CHECK(!shape.groups.empty()) << "a batch without sequences";
  for (const SequenceGroup& group : shape.groups) {
    CHECK(group.count > 0 && group.queries > 0 && group.cached >= 0)
        << group.count << " x " << group.queries << " after " << group.cached;
    CHECK(group.queries % shape.context == 0 &&
          group.cached % shape.context == 0)
        << group.queries << " after " << group.cached << " tokens over "
        << shape.context << " context ranks";
    CHECK(!trains || group.cached == 0) << "training has no cache";
  }
  CHECK(trains || shape.kept == KeptFormats{}) << "inference keeps nothing";
}

}  // namespace

LayerBuilder::LayerBuilder(const Model& model, const LayerShape& shape,
                           int64_t tokens)
    : model_(model),
      shape_(shape),
      tokens_(tokens),
      trains_(Trains(shape.purpose)) {
  CheckShape(shape);
  ops_.forward.reserve(kUsualSteps);
  if (!trains_) return;
  ops_.input_gradient.reserve(kUsualSteps);
  ops_.weight_gradient.reserve(kUsualSteps);
  ops_.kept.reserve(kUsualSteps);
}

void LayerBuilder::BeginModule(ModuleSet modules) {
  ++module_index_;
  modules_ = modules;
}

void LayerBuilder::Forward(OpName name, const Work& work) {
  Add(ops_.forward, Op{name, Pass::kForward, work}, modules_);
}
void LayerBuilder::InputGradient(OpName name, const Work& work) {
  if (!trains_) return;
  Add(ops_.input_gradient, Op{name, Pass::kInputGradient, work}, kNoModule);
}
void LayerBuilder::WeightGradient(OpName name, const Work& work) {
  if (!trains_) return;
  Add(ops_.weight_gradient, Op{name, Pass::kWeightGradient, work}, kNoModule);
}
void LayerBuilder::ForwardExchange(const Exchange& exchange) {
  Add(ops_.forward, exchange, modules_);
}
void LayerBuilder::InputGradientExchange(const Exchange& exchange) {
  if (!trains_) return;
  Add(ops_.input_gradient, exchange, kNoModule);
}
void LayerBuilder::WeightGradientExchange(const Exchange& exchange) {
  if (!trains_) return;
  Add(ops_.weight_gradient, exchange, kNoModule);
}

void LayerBuilder::Keep(std::string_view name, int64_t elements, DType dtype,
                        ModuleSet modules, bool layer_input) {
  if (!trains_) return;
  ops_.kept.push_back(
      KeptTensor{name, StorageBytes(dtype, elements), modules, layer_input});
}

Pointwise LayerBuilder::Elementwise(int64_t elements, double reads,
                                    double writes,
                                    double flops_per_element) const {
  const auto bytes = [&](double tensors) {
    return Bytes(std::llround(tensors * static_cast<double>(elements) *
                              BytesPerElement(shape_.activation)));
  };
  return Pointwise{.read = bytes(reads),
                   .written = bytes(writes),
                   .flops = flops_per_element * static_cast<double>(elements)};
}

bool LayerBuilder::Narrow() const {
  return Bits(shape_.precision) < Bits(shape_.activation);
}

DType LayerBuilder::Operand(const LinearShape& l) const {
  return l.wide ? shape_.activation : shape_.precision;
}

Pointwise LayerBuilder::Cast(int64_t elements, DType to, int copies) const {
  Pointwise cast = Elementwise(elements, 1, 0, kCastFlops);
  cast.kind = Pointwise::Kind::kQuantize;
  cast.written = StorageBytes(to, elements) * copies;
  return cast;
}

// The forward cast also writes the transposed copy that the weight gradient
// reads, if there will be one.
void LayerBuilder::CastForward(int64_t elements) {
  if (!Narrow() || shape_.fuse_casts) return;
  const bool output_only = std::exchange(output_only_, false);
  Forward(OpName::kQuantize, Cast(elements, shape_.precision, trains_ ? 2 : 1));
  output_only_ = output_only;
}

// Once for the input's gradient and, transposed, once for the weights'.
void LayerBuilder::CastInputGradient(int64_t elements) {
  if (!Narrow()) return;
  InputGradient(OpName::kQuantize, Cast(elements, shape_.precision, 2));
}

void LayerBuilder::LinearForward(const LinearShape& l) {
  if (!l.wide) CastForward(l.rows * l.inputs);
  ProductForward(l);
}

void LayerBuilder::ProductForward(const LinearShape& l) {
  const bool narrow =
      !l.wide || (l.name == OpName::kHead && shape_.narrow_head);
  Forward(l.name, Gemm{.m = l.rows,
                       .n = l.outputs,
                       .k = l.inputs,
                       .operand = Operand(l),
                       .output = shape_.activation,
                       .weight = narrow ? shape_.weight : std::nullopt,
                       .weight_group = narrow ? shape_.weight_group : 0});
  if (l.bias && shape_.fusion == Fusion::kNone) {
    Forward(OpName::kBias, Elementwise(l.rows * l.outputs, 1, 1, 1));
  }
}

void LayerBuilder::LinearInputGradient(const LinearShape& l) {
  if (!l.wide) CastInputGradient(l.rows * l.outputs);
  InputGradient(l.name, Gemm{.m = l.rows,
                             .n = l.inputs,
                             .k = l.outputs,
                             .operand = Operand(l),
                             .output = shape_.activation});
}

void LayerBuilder::LinearWeightGradient(const LinearShape& l) {
  const bool fused = shape_.fuse_accumulation;
  WeightGradient(l.name,
                 Gemm{.m = l.outputs,
                      .n = l.inputs,
                      .k = l.rows,
                      .operand = Operand(l),
                      .output = fused ? shape_.gradient : shape_.activation,
                      .accumulate = fused});
  if (!fused) Accumulate(l.outputs * l.inputs);
  // The sum over tokens reads the output's gradient once more, whatever the
  // bias was fused with forward.
  if (l.bias && shape_.fusion != Fusion::kResidualNorm) {
    WeightGradient(OpName::kBias, Elementwise(l.rows * l.outputs, 1, 0, 1));
  }
}

void LayerBuilder::SideBySideForward(const LinearShape& whole,
                                     absl::Span<const int64_t> outputs) {
  if (!Apart(outputs)) return LinearForward(whole);
  CastForward(whole.rows * whole.inputs);
  for (const int64_t width : outputs) ProductForward(Part(whole, width));
}

void LayerBuilder::SideBySideInputGradient(const LinearShape& whole,
                                           absl::Span<const int64_t> outputs) {
  if (!Apart(outputs)) return LinearInputGradient(whole);
  for (const int64_t width : outputs) LinearInputGradient(Part(whole, width));
  const auto parts = static_cast<double>(outputs.size());
  InputGradient(OpName::kAccumulate,
                Elementwise(whole.rows * whole.inputs, parts, 1, parts - 1));
}

void LayerBuilder::SideBySideWeightGradient(const LinearShape& whole,
                                            absl::Span<const int64_t> outputs) {
  if (!Apart(outputs)) return LinearWeightGradient(whole);
  for (const int64_t width : outputs) LinearWeightGradient(Part(whole, width));
}

// Reads a fresh gradient and the sum, writes the sum.
void LayerBuilder::Accumulate(int64_t elements) {
  Pointwise add = Elementwise(elements, 1, 0, 1);
  add.read += StorageBytes(shape_.gradient, elements);
  add.written += StorageBytes(shape_.gradient, elements);
  WeightGradient(OpName::kAccumulate, add);
}

void LayerBuilder::KeepLinearInput(std::string_view name, int64_t rows,
                                   int64_t width, ModuleSet modules,
                                   bool wide) {
  const DType operand =
      Narrow() && !wide ? shape_.precision : shape_.activation;
  KeepAs(name, rows * width, shape_.kept.linear_input.value_or(operand),
         modules);
}

void LayerBuilder::KeepAs(std::string_view name, int64_t elements, DType kept,
                          ModuleSet modules) {
  const bool exists =
      kept == shape_.activation || (Narrow() && kept == shape_.precision);
  if (!exists) Forward(OpName::kQuantize, Cast(elements, kept, 1));
  Keep(name, elements, kept, modules);
}

void LayerBuilder::Norm(int64_t rows, int64_t width, bool residual) {
  if (trains_ && shape_.norms_in_parts) {
    NormInParts(rows * width);
    if (residual) {
      InputGradient(OpName::kResidual, Elementwise(rows * width, 2, 1, 1));
    }
    return;
  }
  const bool fused = residual && shape_.fusion == Fusion::kResidualNorm;
  // The sum of the residual branch that a fused norm takes over is one more
  // tensor read and written forward.
  Pointwise forward =
      Elementwise(rows * width, fused ? 2 : 1, fused ? 2 : 1, kNormFlops);
  forward.kind = Pointwise::Kind::kNorm;
  forward.row = width;
  Forward(OpName::kNorm, forward);
  Pointwise backward =
      Elementwise(rows * width, fused ? 3 : 2, 1, kNormGradientFlops);
  backward.kind = Pointwise::Kind::kNorm;
  backward.row = width;
  InputGradient(OpName::kNorm, backward);
  if (shape_.fusion == Fusion::kNone) {
    // The weights' gradient reads input and output gradient once more.
    WeightGradient(OpName::kNorm, Elementwise(rows * width, 2, 0, 2));
  }
  if (residual && !fused) {
    InputGradient(OpName::kResidual, Elementwise(rows * width, 2, 1, 1));
  }
}

// x.float(), its square, the mean of that, the product with its root, the cast
// back, the product with the weights; an FP32 tensor counts twice. Backward
// each of them has its own, and x is reached on three ways that are summed.
void LayerBuilder::NormInParts(int64_t elements) {
  Pointwise forward = Elementwise(elements, 10, 8, kNormFlops);
  forward.launches = 8;
  Forward(OpName::kNorm, forward);
  Pointwise backward = Elementwise(elements, 24, 16, kNormGradientFlops);
  backward.launches = 12;
  InputGradient(OpName::kNorm, backward);
  Pointwise weights = Elementwise(elements, 3, 1, 2);
  weights.launches = 2;
  WeightGradient(OpName::kNorm, weights);
  Keep("norm_copy", elements, DType::kFp32, Module::kNorm);
  Keep("norm_output", elements, shape_.activation, Module::kNorm);
}

Exchange LayerBuilder::TokenExchange(ExchangeKind kind, int64_t width) const {
  return Exchange{.kind = kind,
                  .group = ExchangeGroup::kTensor,
                  .bytes = StorageBytes(shape_.activation, tokens() * width)};
}

void LayerBuilder::GatherTokensForward(int64_t width) {
  if (shape_.tensor == 1 || !shape_.sequence_parallel) return;
  ForwardExchange(TokenExchange(ExchangeKind::kAllGather, width));
}

void LayerBuilder::ReduceTokensForward(int64_t width) {
  if (shape_.tensor == 1) return;
  ForwardExchange(TokenExchange(shape_.sequence_parallel
                                    ? ExchangeKind::kReduceScatter
                                    : ExchangeKind::kAllReduce,
                                width));
}

void LayerBuilder::GatherTokensInputGradient(int64_t width) {
  if (shape_.tensor == 1 || !shape_.sequence_parallel) return;
  InputGradientExchange(TokenExchange(ExchangeKind::kAllGather, width));
}

void LayerBuilder::ReduceTokensInputGradient(int64_t width) {
  if (shape_.tensor == 1) return;
  InputGradientExchange(TokenExchange(shape_.sequence_parallel
                                          ? ExchangeKind::kReduceScatter
                                          : ExchangeKind::kAllReduce,
                                      width));
}

void LayerBuilder::GatherTokensWeightGradient(int64_t width) {
  if (shape_.tensor == 1 || !shape_.sequence_parallel) return;
  if (shape_.keep_gathered) return;
  WeightGradientExchange(TokenExchange(ExchangeKind::kAllGather, width));
}

LayerOps LayerBuilder::Build() && {
  if (trains_) KeepPerOp(ops_.forward, shape_);
  // Modules are opened one after the other.
  TurnAround(ops_.input_gradient);
  TurnAround(ops_.weight_gradient);
  return std::move(ops_);
}

}  // namespace orrery
