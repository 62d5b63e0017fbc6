// A mixture of experts: router, dispatch, experts, combine, shared experts.
#include <algorithm>
#include <cmath>

#include "workload/model/layer_builder.h"
#include "workload/model/token_bytes.h"

namespace orrery {
namespace {

// Kernels between a router's product and the permutation: in training scores,
// choice, counts and balancing losses, fused as far as Megatron-Core does
// (docs/discussions/deepseek-v3-gb200-optimization: 31, and 72 before); engines
// need two.
constexpr int32_t kRouterKernels = 31;
constexpr int32_t kEngineRouterKernels = 2;

// How routing loads this rank.
struct ExpertLoad {
  int64_t sent_rows;  // token copies this rank sends to experts
  GroupedGemm rows;   // groups, rows, hot_rows, active
  int64_t received;   // rows in all its experts
};

ExpertLoad LoadOf(const LayerBuilder& b) {
  const MixtureOfExperts& moe = *b.model().moe();
  const LayerShape& shape = b.shape();
  const int64_t tokens = b.resident_tokens();
  // With sequence parallelism the ranks of an expert's tensor group bring
  // tokens of their own; without it they all have the same.
  const int gathered = shape.sequence_parallel ? shape.expert_tensor : 1;
  const int held = moe.experts + shape.redundant_experts;
  const int groups = held / shape.expert;
  const double copies =
      static_cast<double>(tokens) * moe.experts_per_token * gathered;
  const double mean = copies / groups;
  const double rest =
      groups > 1
          ? (shape.expert_load * groups - shape.expert_peak) / (groups - 1.0)
          : shape.expert_peak;
  // An expert is idle if none of the group's tokens chose it.
  const double group_tokens =
      static_cast<double>(tokens) * gathered * shape.expert;
  const double idle = std::pow(
      1.0 - static_cast<double>(moe.experts_per_token) / held, group_tokens);
  ExpertLoad load;
  load.sent_rows = tokens * moe.experts_per_token;
  load.rows.groups = groups;
  load.rows.rows = mean * rest;
  load.rows.hot_rows = mean * shape.expert_peak;
  load.rows.active = groups * (1.0 - idle);
  load.rows.operand = shape.precision;
  load.rows.output = shape.activation;
  load.rows.weight = shape.weight;
  load.rows.weight_group = shape.weight_group;
  load.received = std::llround(load.rows.total_rows());
  return load;
}

GroupedGemm Grouped(const ExpertLoad& load, int64_t n, int64_t k) {
  GroupedGemm g = load.rows;
  g.n = n;
  g.k = k;
  return g;
}

void AddExpertGradients(LayerBuilder& b, OpName name, const ExpertLoad& load,
                        int64_t outputs, int64_t inputs) {
  b.CastInputGradient(load.received * outputs);
  b.InputGradient(name, Grouped(load, inputs, outputs));
  GroupedGemm weight = Grouped(load, outputs, inputs);
  weight.weight_gradient = true;
  const bool fused = b.shape().fuse_accumulation;
  if (fused) weight.output = b.shape().gradient;
  weight.accumulate = fused;
  b.WeightGradient(name, weight);
  if (!fused) b.Accumulate(outputs * inputs * load.rows.groups);
}

// The bias after an expert's last product counts as much as the routing weight
// of each row, so that no product takes it over. Expert by expert: weight times
// bias, the sum, and all of them put together; backward two products, each
// summed over rows or columns, and the pieces put together (Megatron-Core,
// transformer/moe/experts.py, TEGroupedMLP._apply_bias).
void AddExpertBias(LayerBuilder& b, const ExpertLoad& load) {
  Pointwise sum = b.Elementwise(load.received * b.model().hidden(), 3, 3, 2);
  sum.launches = 2 * load.rows.groups + 1;
  b.Forward(OpName::kBias, sum);
}
void AddExpertBiasGradient(LayerBuilder& b, const ExpertLoad& load) {
  Pointwise sums = b.Elementwise(load.received * b.model().hidden(), 5, 3, 4);
  sums.launches = 4 * load.rows.groups + 1;
  b.InputGradient(OpName::kBias, sums);
}

void AddSharedExperts(LayerBuilder& b) {
  const Model& model = b.model();
  const MixtureOfExperts& moe = *model.moe();
  const int64_t width =
      int64_t{moe.shared_experts} * moe.shared_expert_width / b.shape().tensor;
  const int64_t hidden = model.hidden();
  const LayerBuilder::LinearShape up{OpName::kSharedUp, b.tokens(),
                                     width * (moe.gated() ? 2 : 1), hidden,
                                     moe.expert_bias};
  const LayerBuilder::LinearShape down{OpName::kSharedDown, b.tokens(), hidden,
                                       width, moe.expert_bias};
  b.BeginModule(Module::kMoe);
  b.BesideExchange(true);
  b.GatherTokensForward(hidden);
  AddUpForward(b, up, moe.gated());
  b.LinearInputGradient(up);
  b.ReduceTokensInputGradient(hidden);
  b.GatherTokensWeightGradient(hidden);
  b.LinearWeightGradient(up);
  AddActivation(b, OpName::kSharedActivation, b.tokens(), width, moe.gated(),
                Module::kMoe);
  AddDownProjection(b, down, "shared_down_input", Module::kMoe);
  b.BesideExchange(false);
}

}  // namespace

void AddMixture(LayerBuilder& b) {
  const Model& model = b.model();
  const MixtureOfExperts& moe = *model.moe();
  const LayerShape& shape = b.shape();
  const int64_t hidden = model.hidden();
  const int64_t tokens = b.resident_tokens();
  const int64_t width = moe.expert_width / shape.expert_tensor;
  const int64_t up_width = width * (moe.gated() ? 2 : 1);
  const ExpertLoad load = LoadOf(b);
  const auto all_to_all = [&](DType dtype, CallShape route) {
    return Exchange{.kind = ExchangeKind::kAllToAll,
                    .group = ExchangeGroup::kExpert,
                    .bytes = TokenBytes(dtype, load.sent_rows * hidden),
                    .shape = shape.routed ? route : CallShape::kEven};
  };
  const Exchange dispatch =
      all_to_all(shape.dispatch, CallShape::kTokensToExperts);
  const Exchange combine =
      all_to_all(shape.activation, CallShape::kTokensFromExperts);
  const auto expert_tensor = [&](ExchangeKind kind) {
    return Exchange{
        .kind = kind,
        .group = ExchangeGroup::kExpertTensor,
        .bytes = StorageBytes(shape.activation, load.received * hidden)};
  };
  const bool spread = shape.expert > 1;
  const bool gathers = shape.expert_tensor > 1 && shape.sequence_parallel;
  const bool reduces = shape.expert_tensor > 1 && !shape.sequence_parallel;

  AddBlockNorm(b);
  b.BeginModule(Module::kMoe);
  const LayerBuilder::LinearShape router{
      OpName::kRouter, tokens, moe.experts, hidden, moe.router_bias,
      /*wide=*/true};
  b.LinearForward(router);
  b.LinearInputGradient(router);
  b.LinearWeightGradient(router);
  b.KeepLinearInput("router_input", tokens, hidden, Module::kNorm, router.wide);

  b.BeginModule(Module::kMoe);
  const Bytes logits = StorageBytes(DType::kFp32, tokens * moe.experts);
  const Bytes chosen = StorageBytes(DType::kFp32, 2 * load.sent_rows);
  const double logit_count = static_cast<double>(tokens) * moe.experts;
  b.Forward(
      OpName::kTopK,
      Pointwise{.kind = Pointwise::Kind::kSoftmax,
                .launches = b.trains() ? kRouterKernels : kEngineRouterKernels,
                .read = logits,
                .written = logits + chosen,
                .flops = 7 * logit_count,
                .row = moe.experts});
  b.InputGradient(OpName::kTopK, Pointwise{.kind = Pointwise::Kind::kSoftmax,
                                           .read = logits + chosen,
                                           .written = logits,
                                           .flops = 4 * logit_count,
                                           .row = moe.experts});
  b.Keep("router_probabilities", tokens * moe.experts, DType::kFp32,
         Module::kMoe);

  b.BeginModule(Module::kMoe);
  b.Forward(OpName::kPermute, b.Elementwise(load.sent_rows * hidden, 1, 1, 0));
  b.InputGradient(OpName::kPermute,
                  b.Elementwise(load.sent_rows * hidden, 1,
                                1.0 / moe.experts_per_token, 1));
  if (spread) b.ForwardExchange(dispatch);

  if (moe.shared_experts > 0) AddSharedExperts(b);

  // What comes from other ranks is in their order; products want it expert by
  // expert, and the way back theirs (Megatron-Core, token_dispatcher.py,
  // sort_chunks_by_idxs; DeepGEMM's contiguous layout asks for the same).
  const bool sorts = spread && load.rows.groups > 1;
  const Pointwise sorting = b.Elementwise(load.received * hidden, 1, 1, 0);
  b.BeginModule(Module::kMoe);
  if (gathers) b.ForwardExchange(expert_tensor(ExchangeKind::kAllGather));
  if (sorts) b.Forward(OpName::kPermute, sorting);
  // Rows that travelled in the narrow format need no cast.
  if (shape.dispatch != shape.precision) {
    b.CastForward(load.received * hidden);
  }
  b.Forward(OpName::kExpertUp, Grouped(load, up_width, hidden));
  AddExpertGradients(b, OpName::kExpertUp, load, up_width, hidden);
  if (gathers) {
    b.InputGradientExchange(expert_tensor(ExchangeKind::kReduceScatter));
  }
  if (reduces) b.InputGradientExchange(expert_tensor(ExchangeKind::kAllReduce));
  if (sorts) b.InputGradient(OpName::kPermute, sorting);
  if (spread) b.InputGradientExchange(combine);
  b.KeepLinearInput("expert_input", load.received, hidden, Module::kMoe);

  if (moe.limited_activation) {
    AddActivationLimit(b, OpName::kExpertActivation, load.received, width,
                       Module::kMoe);
  }
  AddActivation(b, OpName::kExpertActivation, load.received, width, moe.gated(),
                Module::kMoe);

  b.BeginModule(Module::kMoe);
  if (gathers) {
    b.InputGradientExchange(expert_tensor(ExchangeKind::kAllGather));
  }
  b.CastForward(load.received * width);
  // The gradient of a routing weight needs what the weight multiplied: the
  // expert's output, or its activation, which is there anyway.
  const bool on_output = shape.routing_weight == RoutingWeight::kOnOutput;
  const bool ends_layer = !b.has_post_norm();
  b.ForOutput(ends_layer && !on_output);
  b.Forward(OpName::kExpertDown, Grouped(load, hidden, width));
  const bool bias_apart = moe.expert_bias && b.fuses_by_hand();
  if (bias_apart) AddExpertBias(b, load);
  if (sorts) b.Forward(OpName::kUnpermute, sorting);
  if (sorts) b.InputGradient(OpName::kUnpermute, sorting);
  if (bias_apart) AddExpertBiasGradient(b, load);
  AddExpertGradients(b, OpName::kExpertDown, load, hidden, width);
  if (gathers) b.ForwardExchange(expert_tensor(ExchangeKind::kReduceScatter));
  if (reduces) b.ForwardExchange(expert_tensor(ExchangeKind::kAllReduce));
  b.ForOutput(false);
  b.KeepLinearInput("expert_down_input", load.received, width,
                    Module::kMoe | Module::kMlpActivation);

  b.BeginModule(Module::kMoe);
  b.ForOutput(ends_layer && !on_output);
  if (spread) b.ForwardExchange(combine);
  // The sum over a token's experts, and over the shared ones.
  const double share = 1.0 / moe.experts_per_token;
  b.ForOutput(ends_layer);
  b.Forward(OpName::kUnpermute,
            b.Elementwise(load.sent_rows * hidden,
                          1 + (moe.shared_experts > 0 ? share : 0), share, 2));
  b.ForOutput(false);
  b.InputGradient(OpName::kUnpermute,
                  b.Elementwise(load.sent_rows * hidden,
                                (on_output ? 1 : 0) + share, 1, 2));
  if (spread) b.InputGradientExchange(dispatch);
  if (on_output) {
    b.Keep("expert_output", load.sent_rows * hidden, shape.activation,
           Module::kMoe);
  }
}

}  // namespace orrery
