#pragma once
// A transformer layer as lists of ops and exchanges.
//
// For one layer and one shape: what runs forward, what yields the gradient of
// the input, what yields the gradients of the weights, where ranks exchange
// data in between, and which tensors are kept from forward to backward.
//
//   const LayerOps ops = BuildLayer(model, layer, shape);
//   for (const Step& step : ops.forward) ...
//
// Steps of a list stand in the order of execution. A `slot` numbers the
// modules of a layer in forward order and ties the three lists together: both
// gradient lists run through the slots downwards, and the weight gradient of a
// slot needs what the input-gradient list did in slots above it. So a schedule
// that splits the passes runs the lists one after the other, and one that does
// not merges them by slot, which puts each weight gradient beside the exchange
// it can hide. A ring exchange brings one block per step: the i-th attention op
// after it needs i of them.
//
// Recomputation: a kept tensor whose `modules` meet the recomputed set is not
// kept, and the forward steps whose `modules` meet it run again before the
// layer's backward pass. Under full recomputation only tensors marked
// `layer_input` are kept and every forward step runs again.
//
// Bytes of kept tensors follow Korthikanti et al., arXiv 2205.05198, section 4.
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "base/units.h"
#include "topology/traffic/call_shape.h"
#include "topology/traffic/communication_kind.h"
#include "workload/model/layer_shape.h"
#include "workload/model/model.h"
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
std::string_view Name(ExchangeKind kind);
// What the network is asked for. A step of a ring sends a block to the next.
CommunicationKind CommunicationKindOf(ExchangeKind kind);
std::string_view Name(ExchangeGroup group);

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

// Parts of a layer that can be recomputed, as a set of bits: bit i is the i-th
// Module of plan.h.
using ModuleSet = uint8_t;
inline constexpr ModuleSet kNoModule = 0;
inline constexpr ModuleSet kAttentionCoreModule = 1 << 0;
inline constexpr ModuleSet kNormModule = 1 << 1;
inline constexpr ModuleSet kMlpActivationModule = 1 << 2;
inline constexpr ModuleSet kMlpModule = 1 << 3;
inline constexpr ModuleSet kMoeModule = 1 << 4;
inline constexpr ModuleSet kLatentUpModule = 1 << 5;

struct Step {
  std::variant<Op, Exchange> what;
  int16_t slot = 0;
  ModuleSet modules = kNoModule;
  // Does not need the exchange before it in the list, and may run beside it:
  // shared experts beside the dispatch, the first block of ring attention
  // beside the passing of the next.
  bool beside_exchange = false;

  const Op* op() const { return std::get_if<Op>(&what); }
  const Exchange* exchange() const { return std::get_if<Exchange>(&what); }
  friend bool operator==(const Step&, const Step&) = default;
};

// A tensor that lives from its slot's forward to its slot's backward.
struct KeptTensor {
  // What it is to the op that needs it: "norm_input", "keys".
  std::string_view name;
  Bytes bytes{};
  int16_t slot = 0;
  ModuleSet modules = kNoModule;
  bool layer_input = false;
};

struct LayerOps {
  std::vector<Step> forward;
  std::vector<Step> input_gradient;
  std::vector<Step> weight_gradient;
  std::vector<KeptTensor> kept;
};

// The ops of `layer`. Layers from model.layers() on are the blocks of the
// multi-token-prediction modules. Requires: the degrees divide the model (heads
// by tensor x context for Ulysses, experts by expert), queries by context.
LayerOps BuildLayer(const Model& model, int layer, const LayerShape& shape);

// Before the first layer: the vocabulary-parallel embedding.
LayerOps BuildEmbedding(const Model& model, const LayerShape& shape);

// What the end of the model computes.
struct HeadShape {
  // Positions per sequence whose logits are needed; 0: all.
  int64_t positions = 0;
  // Cross-entropy over vocabulary-parallel logits, as in training.
  bool loss = true;
};
// After the last layer: norm, LM head, loss.
LayerOps BuildHead(const Model& model, const LayerShape& shape,
                   const HeadShape& head = {});
// What a multi-token-prediction module has besides its block and its head: two
// norms and the projection of 2h to h.
LayerOps BuildPredictionInput(const Model& model, const LayerShape& shape);

// Bytes kept per layer if `recomputed` modules are computed again.
Bytes KeptBytes(const LayerOps& ops, ModuleSet recomputed);
// Bytes kept under full recomputation: the inputs only.
Bytes KeptInputBytes(const LayerOps& ops);

// Sums over a list of steps.
Flops SumMatrixFlops(const std::vector<Step>& steps);
Flops SumModelFlops(const std::vector<Step>& steps);

}  // namespace orrery
