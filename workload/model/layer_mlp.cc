// The dense MLP of a layer, and what it shares with the experts.
#include "workload/model/layer_builder.h"

namespace orrery {
namespace {

// Operations per element of the inner width, forward and backward: SiLU or GELU
// with the product of a gated MLP, GELU alone (gkarfakis19/Rapid-LLM counts).
struct ActivationCost {
  double flops;
  double gradient_flops;
};
constexpr ActivationCost kGatedCost{11, 22};
constexpr ActivationCost kPlainCost{10, 20};

}  // namespace

void AddUpForward(LayerBuilder& b, LayerBuilder::LinearShape up, bool gated) {
  if (gated && b.shape().gate_apart) {
    up.outputs /= 2;
    b.LinearForward(up);
  }
  b.LinearForward(up);
}

void AddActivation(LayerBuilder& b, OpName name, int64_t rows, int64_t width,
                   bool gated, ModuleSet modules) {
  const ActivationCost cost = gated ? kGatedCost : kPlainCost;
  const double inputs = gated ? 2 : 1;
  b.BeginModule(modules | Module::kMlpActivation);
  const int64_t kept = rows * width * (gated ? 2 : 1);
  const DType computed = b.shape().activation;
  const DType format = b.shape().kept.activation_input.value_or(computed);
  Pointwise forward = b.Elementwise(rows * width, inputs, 1, cost.flops);
  Pointwise backward =
      b.Elementwise(rows * width, inputs + 1, inputs, cost.gradient_flops);
  const bool apart = gated && b.shape().fusion == Fusion::kNone;
  if (apart) {
    // The function of the gate, which is kept, and its product with the other
    // half; backward two products and the gradient of the function.
    forward = b.Elementwise(rows * width, 3, 2, cost.flops);
    forward.launches = 2;
    backward = b.Elementwise(rows * width, 6, 3, cost.gradient_flops);
    backward.launches = 3;
    b.Keep("activation_of_gate", rows * width, computed,
           modules | Module::kMlpActivation);
  }
  if (format != computed) {
    // The kernel writes the narrow copy, and reads it in the backward pass.
    forward.written += StorageBytes(format, kept);
    backward.read -= StorageBytes(computed, kept) - StorageBytes(format, kept);
  }
  b.Forward(name, forward);
  b.InputGradient(name, backward);
  b.Keep("activation_input", kept, format, modules);
}

void AddActivationLimit(LayerBuilder& b, OpName name, int64_t rows,
                        int64_t width, ModuleSet modules) {
  if (!b.fuses_by_hand()) return;
  // Each half is limited and both are put together again; backward the same
  // with the inputs beside the gradients (Megatron-Core,
  // fusions/fused_bias_geglu.py: clamp, clamp, cat before the fused kernel).
  b.BeginModule(modules | Module::kMlpActivation);
  Pointwise forward = b.Elementwise(rows * width, 4, 4, 2);
  forward.launches = 3;
  b.Forward(name, forward);
  Pointwise backward = b.Elementwise(rows * width, 6, 4, 2);
  backward.launches = 3;
  b.InputGradient(name, backward);
  b.Keep("limited_input", 2 * rows * width, b.shape().activation,
         modules | Module::kMlpActivation);
}

void AddDownProjection(LayerBuilder& b, const LayerBuilder::LinearShape& down,
                       std::string_view input, ModuleSet modules) {
  const int64_t hidden = b.model().hidden();
  b.BeginModule();
  b.ForOutput(!b.has_post_norm());
  b.LinearForward(down);
  b.ReduceTokensForward(hidden);
  b.ForOutput(false);
  b.GatherTokensInputGradient(hidden);
  b.LinearInputGradient(down);
  b.LinearWeightGradient(down);
  b.KeepLinearInput(input, b.tokens(), down.inputs,
                    modules | Module::kMlpActivation);
}

void AddBlockNorm(LayerBuilder& b) {
  b.BeginModule(Module::kNorm);
  b.Norm(b.resident_tokens(), b.model().hidden(), /*residual=*/true);
  b.Keep("norm_input", b.resident_tokens() * b.model().hidden(),
         b.shape().activation);
}

void AddMlp(LayerBuilder& b) {
  const Model& model = b.model();
  const Mlp& mlp = *model.mlp();
  const int64_t hidden = model.hidden();
  const int64_t width = mlp.width / b.shape().tensor;
  const bool parallel = model.parallel_block();
  const LayerBuilder::LinearShape up{OpName::kMlpUp, b.tokens(),
                                     width * (mlp.gated() ? 2 : 1), hidden,
                                     model.mlp_bias()};
  const LayerBuilder::LinearShape down{OpName::kMlpDown, b.tokens(), hidden,
                                       width, model.mlp_bias()};
  // A parallel block has gathered its tokens and kept them for attention; the
  // MLP may read them through a norm of its own.
  if (!parallel) {
    AddBlockNorm(b);
  } else if (model.norms_per_layer() > 1) {
    b.BeginModule(Module::kNorm);
    b.Norm(b.resident_tokens(), hidden, /*residual=*/false);
  }
  b.BeginModule(Module::kMlp);
  if (!parallel) b.GatherTokensForward(hidden);
  // Of a gated one the gate and what it lets through.
  const int64_t halves[] = {width, width};
  const auto outputs = absl::MakeSpan(halves, mlp.gated() ? 2 : 1);
  if (b.trains()) {
    b.SideBySideForward(up, outputs);
  } else {
    AddUpForward(b, up, mlp.gated());
  }
  b.SideBySideInputGradient(up, outputs);
  if (!parallel) {
    b.ReduceTokensInputGradient(hidden);
    b.GatherTokensWeightGradient(hidden);
    b.KeepLinearInput("mlp_up_input", b.kept_tokens(), hidden, Module::kNorm);
  }
  b.SideBySideWeightGradient(up, outputs);
  AddActivation(b, OpName::kMlpActivation, b.tokens(), width, mlp.gated(),
                Module::kMlp);
  AddDownProjection(b, down, "mlp_down_input", Module::kMlp);
}

}  // namespace orrery
