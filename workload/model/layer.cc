#include "workload/model/layer.h"

#include "base/check.h"
#include "workload/model/layer_builder.h"

namespace orrery {

LayerOps BuildLayer(const Model& model, int layer, const LayerShape& shape) {
  CHECK(shape.sequence_parallel || !model.IsMoe(layer) ||
        shape.expert_tensor == shape.tensor)
      << "experts without sequence parallelism need expert_tensor == tensor";
  LayerBuilder builder(model, shape);
  AddAttention(builder, layer);
  if (!model.parallel_block()) AddResidual(builder, /*ends_layer=*/false);
  if (model.IsMoe(layer)) {
    AddMixture(builder);
  } else {
    AddMlp(builder);
  }
  AddResidual(builder, /*ends_layer=*/true);
  return std::move(builder).Build();
}

void AddResidual(LayerBuilder& builder, bool ends_layer) {
  const Model& model = builder.model();
  const int64_t elements = builder.resident_tokens() * model.hidden();
  const DType activation = builder.shape().activation;
  if (builder.has_post_norm()) {
    builder.BeginModule(Module::kNorm);
    builder.Norm(builder.resident_tokens(), model.hidden(), /*residual=*/false);
    builder.Keep("post_norm_input", elements, activation);
  }
  builder.BeginModule();
  const Bytes mask = StorageBytes(DType::kInt8, elements);
  const bool drops_out = builder.drops_out();
  Pointwise dropout = builder.Elementwise(elements, 1, 1, 1);
  dropout.written += mask;
  switch (builder.shape().fusion) {
    case Fusion::kNone:
      if (drops_out) builder.Forward(OpName::kDropout, dropout);
      builder.ForOutput(ends_layer);
      builder.Forward(OpName::kResidual,
                      builder.Elementwise(elements, 2, 1, 1));
      break;
    case Fusion::kPointwise: {
      Pointwise sum = builder.Elementwise(elements, 2, 1, 2);
      if (drops_out) sum.written += mask;
      builder.ForOutput(ends_layer && !drops_out);
      builder.Forward(OpName::kResidual, sum);
      break;
    }
    case Fusion::kResidualNorm:
      // The next norm adds the residual.
      if (drops_out) builder.Forward(OpName::kDropout, dropout);
      break;
  }
  builder.ForOutput(false);
  if (!drops_out) return;
  builder.Keep("dropout_mask", elements, DType::kInt8);
  Pointwise gradient = builder.Elementwise(elements, 1, 1, 1);
  gradient.read += mask;
  builder.InputGradient(OpName::kDropout, gradient);
}

Bytes KeptBytes(const LayerOps& ops, ModuleSet recomputed) {
  Bytes sum;
  for (const KeptTensor& tensor : ops.kept) {
    if (!tensor.modules.Meets(recomputed)) sum += tensor.bytes;
  }
  return sum;
}

Bytes KeptInputBytes(const LayerOps& ops) {
  Bytes sum;
  for (const KeptTensor& tensor : ops.kept) {
    if (tensor.layer_input) sum += tensor.bytes;
  }
  return sum;
}

Bytes KeptPerOpBytes(const LayerOps& ops, bool pruned) {
  Bytes sum = KeptInputBytes(ops);
  for (const LayerStep& step : ops.forward) {
    if (pruned && step.output_only) continue;
    sum += step.kept_per_op.value_or(Bytes(0));
  }
  return sum;
}

int64_t CountLaunches(const std::vector<LayerStep>& steps) {
  const auto groups = [&](size_t i) -> int64_t {
    const Op* op = i < steps.size() ? steps[i].op() : nullptr;
    const auto* grouped =
        op == nullptr ? nullptr : std::get_if<GroupedGemm>(&op->work);
    return grouped == nullptr ? 1 : grouped->groups;
  };
  int64_t count = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (const Exchange* exchange = steps[i].exchange()) {
      count += exchange->steps;
      continue;
    }
    const Op& op = *steps[i].op();
    const auto* pointwise = std::get_if<Pointwise>(&op.work);
    if (pointwise == nullptr) {
      count += groups(i);
    } else {
      // Experts' operands are cast apart, as their products are started.
      count += pointwise->launches *
               (op.name == OpName::kQuantize ? groups(i + 1) : 1);
    }
  }
  return count;
}

Flops SumMatrixFlops(const std::vector<LayerStep>& steps) {
  Flops sum;
  for (const LayerStep& step : steps) {
    if (step.op() != nullptr) sum += MatrixFlops(*step.op());
  }
  return sum;
}

Flops SumModelFlops(const std::vector<LayerStep>& steps) {
  Flops sum;
  for (const LayerStep& step : steps) {
    if (step.op() != nullptr) sum += ModelFlops(*step.op());
  }
  return sum;
}

std::string_view Name(ExchangeKind kind) {
  switch (kind) {
    case ExchangeKind::kAllReduce:
      return "all_reduce";
    case ExchangeKind::kAllGather:
      return "all_gather";
    case ExchangeKind::kReduceScatter:
      return "reduce_scatter";
    case ExchangeKind::kAllToAll:
      return "all_to_all";
    case ExchangeKind::kRing:
      return "ring";
  }
  CHECK(false) << "no such exchange";
  return {};
}

CommunicationKind CommunicationKindOf(ExchangeKind kind) {
  switch (kind) {
    case ExchangeKind::kAllReduce:
      return CommunicationKind::kAllReduce;
    case ExchangeKind::kAllGather:
      return CommunicationKind::kAllGather;
    case ExchangeKind::kReduceScatter:
      return CommunicationKind::kReduceScatter;
    case ExchangeKind::kAllToAll:
      return CommunicationKind::kAllToAll;
    case ExchangeKind::kRing:
      return CommunicationKind::kPointToPoint;
  }
  CHECK(false) << "no such exchange";
  return {};
}

std::string_view Name(ExchangeGroup group) {
  switch (group) {
    case ExchangeGroup::kTensor:
      return "tensor";
    case ExchangeGroup::kContext:
      return "context";
    case ExchangeGroup::kExpert:
      return "expert";
    case ExchangeGroup::kExpertTensor:
      return "expert_tensor";
  }
  CHECK(false) << "no such group";
  return {};
}

Dimension DimensionOf(ExchangeGroup group) {
  switch (group) {
    case ExchangeGroup::kTensor:
    case ExchangeGroup::kExpertTensor:
      return Dimension::kTensor;
    case ExchangeGroup::kContext:
      return Dimension::kContext;
    case ExchangeGroup::kExpert:
      return Dimension::kExpert;
  }
  CHECK(false) << "no such group";
  return {};
}

}  // namespace orrery
