#pragma once
// LayerBuilder: collects the steps and kept tensors of a layer, module by
// module.
//
// The files layer_*.cc describe the parts of a transformer with it; nobody else
// needs it. A part opens a module, says what runs forward and backward there,
// and what is kept. Build() puts the gradient lists into the order of
// execution.
#include <absl/types/span.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "workload/model/layer.h"

namespace orrery {

class LayerBuilder {
 public:
  LayerBuilder(const Model& model, const LayerShape& shape)
      : LayerBuilder(model, shape, shape.tokens()) {}
  // For so many tokens of this rank, where not all go on.
  LayerBuilder(const Model& model, const LayerShape& shape, int64_t tokens);

  const Model& model() const { return model_; }
  const LayerShape& shape() const { return shape_; }
  // Tokens of this rank, and those it normalises: with sequence parallelism a
  // tensor rank has its share of them between the matrix products, of a batch
  // that is padded if need be.
  int64_t tokens() const { return tokens_; }
  int64_t resident_tokens() const {
    return shape_.sequence_parallel
               ? (tokens_ + shape_.tensor - 1) / shape_.tensor
               : tokens_;
  }
  // Tokens of which a rank keeps the input of a column-parallel product.
  int64_t kept_tokens() const {
    return shape_.keep_gathered ? tokens_ : resident_tokens();
  }
  bool trains() const { return trains_; }
  bool drops_out() const { return trains_ && model_.dropout(); }
  // Training with kernels that people wrote: they fuse what was foreseen when
  // they were written, and the rest runs an operator at a time. A compiler
  // fuses whatever stands side by side.
  bool fuses_by_hand() const {
    return trains_ && shape_.fusion != Fusion::kResidualNorm;
  }

  // Opens the next module. `modules` are what it counts as when modules
  // are recomputed.
  void BeginModule(ModuleSet modules = kNoModule);
  // Whether steps added from now on may run beside the exchange before them.
  void BesideExchange(bool beside) { beside_ = beside; }
  // Whether forward steps added from now on make the layer's output and nothing
  // its gradients need. A cast also makes the operand of the weights' gradient
  // and is never one of them.
  void ForOutput(bool only) { output_only_ = only; }
  // A norm after the block, whose gradient needs what it normalised.
  bool has_post_norm() const { return model_.norms_per_layer() >= 4; }

  // Gradients and kept tensors are left out of what does not train, so that a
  // part describes both passes and need not ask.
  void Forward(OpName name, const Work& work);
  void InputGradient(OpName name, const Work& work);
  void WeightGradient(OpName name, const Work& work);
  void ForwardExchange(const Exchange& exchange);
  void InputGradientExchange(const Exchange& exchange);
  void WeightGradientExchange(const Exchange& exchange);
  void Keep(std::string_view name, int64_t elements, DType dtype,
            ModuleSet modules = kNoModule, bool layer_input = false);

  // A pointwise kernel over `elements` of the activations' format: so many
  // tensors read and written, so many operations per element.
  Pointwise Elementwise(int64_t elements, double reads, double writes,
                        double flops_per_element) const;

  // The three products of a linear layer, with casts where the precision asks
  // for them.
  struct LinearShape {
    OpName name;
    int64_t rows;
    int64_t outputs;
    int64_t inputs;
    bool bias = false;
    // Multiplied as activations are, however narrow the others' operands:
    // heads and routers (DeepSeek-V3, arXiv 2412.19437, section 3.3.1;
    // Megatron-Core, torchtitan and inference engines do the same).
    bool wide = false;
  };
  void LinearForward(const LinearShape& linear);
  void LinearInputGradient(const LinearShape& linear);
  void LinearWeightGradient(const LinearShape& linear);
  // The same of linear layers that read the same tokens, with `outputs` side by
  // side: one product of the whole, or one of each where the shape has products
  // apart. Tokens are cast once; gradients of the tokens are summed.
  void SideBySideForward(const LinearShape& whole,
                         absl::Span<const int64_t> outputs);
  void SideBySideInputGradient(const LinearShape& whole,
                               absl::Span<const int64_t> outputs);
  void SideBySideWeightGradient(const LinearShape& whole,
                                absl::Span<const int64_t> outputs);
  // Of a weight gradient whose product does not do it.
  void Accumulate(int64_t elements);
  // Casts of `elements` to the operands' format, where that is narrower than
  // the activations': of an input, and of an output's gradient.
  void CastForward(int64_t elements);
  void CastInputGradient(int64_t elements);
  // The input of a linear layer, in the format of its operands unless the shape
  // says otherwise.
  void KeepLinearInput(std::string_view name, int64_t rows, int64_t width,
                       ModuleSet modules = kNoModule, bool wide = false);

  // Keeps a tensor in `kept`, which takes a cast of its own unless it is
  // computed or multiplied in that format anyway.
  void KeepAs(std::string_view name, int64_t elements, DType kept,
              ModuleSet modules = kNoModule);
  // Whether operands are narrower than what passes between kernels.
  bool Narrow() const;

  // Norm over rows of `width`; the gradient also sums the branch that went
  // around it if `residual`.
  void Norm(int64_t rows, int64_t width, bool residual);

  // Exchanges of the tensor group around column- and row-parallel layers; they
  // do nothing on one rank. Before a column-parallel layer: gather the tokens
  // (sequence parallel). After its input gradient: sum it. And so on.
  void GatherTokensForward(int64_t width);
  void ReduceTokensForward(int64_t width);
  void GatherTokensInputGradient(int64_t width);
  void ReduceTokensInputGradient(int64_t width);
  void GatherTokensWeightGradient(int64_t width);

  LayerOps Build() &&;

 private:
  template <class What>
  void Add(std::vector<LayerStep>& list, const What& what, ModuleSet modules) {
    // In place: a step is large, and there are many.
    LayerStep& step = list.emplace_back();
    step.what = what;
    step.module_index = module_index_;
    step.modules = modules;
    step.beside_exchange = beside_;
    step.output_only = output_only_;
  }
  bool Apart(absl::Span<const int64_t> outputs) const {
    return trains_ && shape_.products_apart && outputs.size() > 1;
  }
  static LinearShape Part(const LinearShape& whole, int64_t outputs) {
    LinearShape part = whole;
    part.outputs = outputs;
    return part;
  }
  void NormInParts(int64_t elements);
  // Without the cast of its input.
  void ProductForward(const LinearShape& linear);
  Exchange TokenExchange(ExchangeKind kind, int64_t width) const;
  Pointwise Cast(int64_t elements, DType to, int copies) const;
  DType Operand(const LinearShape& linear) const;

  const Model& model_;
  const LayerShape& shape_;
  int64_t tokens_;
  bool trains_;
  int16_t module_index_ = -1;
  ModuleSet modules_ = kNoModule;
  bool beside_ = false;
  bool output_only_ = false;
  LayerOps ops_;
};

// The parts of a layer, in their order.
void AddAttention(LayerBuilder& builder, int layer);
void AddLatentProjections(LayerBuilder& builder);
void AddAttentionCore(LayerBuilder& builder, int layer);
void AddMlp(LayerBuilder& builder);
void AddBlockNorm(LayerBuilder& builder);
// The linear layer before the activation: one product for gate and up, or one
// for each.
void AddUpForward(LayerBuilder& builder, LayerBuilder::LinearShape up,
                  bool gated);
// The activation between two linear layers, over rows of `width`, in a module
// of its own.
void AddActivation(LayerBuilder& builder, OpName name, int64_t rows,
                   int64_t width, bool gated, ModuleSet modules);
// Limits of both inputs of a gated activation, before it and in its module.
void AddActivationLimit(LayerBuilder& builder, OpName name, int64_t rows,
                        int64_t width, ModuleSet modules);
// The linear layer after the activation, which keeps its `input`.
void AddDownProjection(LayerBuilder& builder,
                       const LayerBuilder::LinearShape& down,
                       std::string_view input, ModuleSet modules);
void AddMixture(LayerBuilder& builder);
// Dropout and the residual sum after a block, with a post-norm if the model has
// it; `ends_layer` after the last block.
void AddResidual(LayerBuilder& builder, bool ends_layer);

}  // namespace orrery
