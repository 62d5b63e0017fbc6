#pragma once
// A transformer layer as lists of ops and exchanges.
//
// For one layer and one shape: what runs forward, what yields the gradient of
// the input, what yields the gradients of the weights, where ranks exchange
// data in between, and which tensors are kept from forward to backward. In
// inference there is a forward list and nothing else.
//
//   const LayerOps ops = BuildLayer(model, layer, shape);
//   for (const LayerStep& step : ops.forward) ...
//
// Steps of a list stand in the order of execution. A layer is a row of modules
// (norm, projection, attention core, ...); a step's `module_index` numbers them
// in forward order and ties the three lists together: both gradient lists run
// through the modules downwards, and the weight gradient of a module needs what
// the input-gradient list did in modules above it. So a schedule that splits
// the passes runs the lists one after the other, and one that does not merges
// them module by module, which puts each weight gradient beside the exchange it
// can hide. A ring exchange brings one block per step: the i-th attention op
// after it needs i of them.
//
// Recomputation: a kept tensor whose `modules` meet the recomputed set is not
// kept, and the forward steps whose `modules` meet it run again before the
// layer's backward pass. Under full recomputation only tensors marked
// `layer_input` are kept and every forward step runs again, but for those that
// make the output alone where the framework sees that (jax.checkpoint). The
// embedding and the head are outside of what is checkpointed and never run
// again (Megatron-LM checkpoints the layers of a transformer block).
//
// Bytes of kept tensors follow Korthikanti et al., arXiv 2205.05198, section 4.
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/units.h"
#include "topology/traffic/call_shape.h"
#include "topology/traffic/communication_kind.h"
#include "topology/traffic/dimension.h"
#include "workload/model/layer_shape.h"
#include "workload/model/model.h"
#include "workload/model/module.h"
#include "workload/model/op.h"

namespace orrery {

enum class ExchangeKind : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  // Blocks passed around the ring, one step after the other.
  kRing,
};
enum class ExchangeGroup : uint8_t {
  kTensor,
  kContext,
  kExpert,
  kExpertTensor,
};
inline constexpr size_t kExchangeGroups = 4;
std::string_view Name(ExchangeKind kind);
// What the network is asked for. A step of a ring sends a block to the next.
CommunicationKind CommunicationKindOf(ExchangeKind kind);
std::string_view Name(ExchangeGroup group);
// For whose sake the group communicates.
Dimension DimensionOf(ExchangeGroup group);

// One collective. `bytes` is the whole tensor it works on: the gathered one of
// an all-gather, the unreduced one of a reduce-scatter, all that a rank holds
// for an all-to-all (its own share included), the block of one step of a ring.
struct Exchange {
  ExchangeKind kind = ExchangeKind::kAllReduce;
  ExchangeGroup group = ExchangeGroup::kTensor;
  Bytes bytes{};
  // Steps of a ring; 1 otherwise.
  int32_t steps = 1;
  // Of an all-to-all: tokens on their way to experts, or back, where that tells
  // who sends how much to whom.
  CallShape shape = CallShape::kEven;
  friend bool operator==(const Exchange&, const Exchange&) = default;
};

// An op or an exchange, in its place.
struct LayerStep {
  std::variant<Op, Exchange> what;
  int16_t module_index = 0;
  // What its module counts as when modules are recomputed.
  ModuleSet modules = kNoModule;
  // Does not need the exchange before it in the list, and may run beside it:
  // shared experts beside the dispatch, the first block of ring attention
  // beside the passing of the next.
  bool beside_exchange = false;
  // Of a forward step: what it makes is the layer's output and nothing else.
  // The layer's own gradients do without it, so that a compiler which sees both
  // does not compute it again.
  bool output_only = false;
  // Of a forward step: what of its output stays where ops are told apart, so
  // that it does not run again; nothing of it where only another that stays
  // needs it. Unset: it runs again.
  std::optional<Bytes> kept_per_op = std::nullopt;

  const Op* op() const { return std::get_if<Op>(&what); }
  const Exchange* exchange() const { return std::get_if<Exchange>(&what); }
  friend bool operator==(const LayerStep&, const LayerStep&) = default;
};

// A tensor that lives from its module's forward to its module's backward.
struct KeptTensor {
  // What it is to the op that needs it: "norm_input", "keys".
  std::string_view name;
  Bytes bytes{};
  // It is computed again with any of these.
  ModuleSet modules = kNoModule;
  bool layer_input = false;
};

struct LayerOps {
  std::vector<LayerStep> forward;
  std::vector<LayerStep> input_gradient;
  std::vector<LayerStep> weight_gradient;
  std::vector<KeptTensor> kept;
  // Recomputation is about layers; what stands at the ends keeps all it needs.
  bool checkpointed = true;
};

// The ops of `layer`. Layers from model.layers() on are the blocks of the
// multi-token-prediction modules. Requires: the degrees divide the model (heads
// by tensor x context for Ulysses, experts by expert), and what layer_shape.h
// asks for.
LayerOps BuildLayer(const Model& model, int layer, const LayerShape& shape);

// Before the first layer: the vocabulary-parallel embedding.
LayerOps BuildEmbedding(const Model& model, const LayerShape& shape);

// After the last layer: norm and LM head for the positions whose logits are
// needed (see pass_purpose.h); then the loss over vocabulary-parallel logits,
// or in inference the logits gathered to be sampled from.
LayerOps BuildHead(const Model& model, const LayerShape& shape);
// What a multi-token-prediction module has besides its block and its head: two
// norms and the projection of 2h to h.
LayerOps BuildPredictionInput(const Model& model, const LayerShape& shape);

// Bytes kept per layer if `recomputed` modules are computed again.
Bytes KeptBytes(const LayerOps& ops, ModuleSet recomputed);
// Bytes kept under full recomputation: the inputs only.
Bytes KeptInputBytes(const LayerOps& ops);
// Bytes kept where ops are told apart: inputs, and the outputs of steps that do
// not run again, those that only make the layer's output left out if `pruned`.
Bytes KeptPerOpBytes(const LayerOps& ops, bool pruned);

// Kernels and collectives that the host starts for a list of steps.
int64_t CountLaunches(const std::vector<LayerStep>& steps);
// Sums over a list of steps.
Flops SumMatrixFlops(const std::vector<LayerStep>& steps);
Flops SumModelFlops(const std::vector<LayerStep>& steps);

}  // namespace orrery
