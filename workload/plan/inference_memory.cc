#include "workload/plan/inference_memory.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "workload/model/kv_cache.h"
#include "workload/model/parameters.h"

namespace orrery {
namespace {

constexpr int64_t kMostSequences = int64_t{1} << 20;
constexpr int64_t kLongest = int64_t{1} << 25;

Bytes OfBits(double elements, double bits) {
  return Bytes(std::llround(std::ceil(elements * bits / 8)));
}

// The widest tensors that live at once beside the residual stream: what one
// linear layer reads and what it writes.
int64_t WidestRow(const Model& model, const Degrees& degrees) {
  const Attention& a = model.attention();
  int64_t widest =
      (a.query_width() + a.key_width() + a.value_width()) / degrees.tensor;
  if (model.mlp()) {
    widest = std::max<int64_t>(widest, int64_t{model.mlp()->width} *
                                           (model.mlp()->gated() ? 3 : 2) /
                                           degrees.tensor);
  }
  if (model.moe()) {
    // Copies of tokens on their way to experts and back, and inside them.
    const MixtureOfExperts& moe = *model.moe();
    widest = std::max<int64_t>(
        widest, int64_t{moe.experts_per_token} *
                    (2 * model.hidden() + int64_t{moe.expert_width} *
                                              (moe.gated() ? 3 : 2) /
                                              degrees.expert_tensor));
  }
  return widest;
}

// The largest number in [0, most] that fits, of those below which all fit.
template <class Fits>
int64_t Largest(int64_t most, Fits fits) {
  int64_t low = 0;
  int64_t high = most + 1;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

Bytes StageWeights(const Model& model, const InferencePlan& plan,
                   const ParallelLayout& layout, const Stage& stage) {
  const Degrees& degrees = layout.degrees;
  const double stored =
      StoredWeightBits(plan.stored_weight(), plan.weight_group());
  const double wide = Bits(plan.activation());
  const auto layer_bytes = [&](int layer) {
    const ParameterCount count = LayerParameters(model, layer);
    const RankParameters held = LayerParametersOf(model, degrees, layer);
    double experts = static_cast<double>(held.experts);
    if (model.moe() && plan.redundant_experts() > 0) {
      experts *= 1.0 + static_cast<double>(plan.redundant_experts()) /
                           model.moe()->experts;
    }
    const auto kept = static_cast<double>(count.router + count.norms);
    return OfBits(static_cast<double>(held.dense) - kept + experts, stored) +
           OfBits(kept, wide);
  };
  Bytes sum;
  // Dense layers weigh all the same, and so do mixtures.
  std::array<std::optional<Bytes>, 2> known;
  for (int i = 0; i < stage.layers; ++i) {
    const int layer = stage.first_layer + i;
    std::optional<Bytes>& bytes = known[model.IsMoe(layer) ? 1 : 0];
    if (!bytes) bytes = layer_bytes(layer);
    sum += *bytes;
  }
  Degrees ends = degrees;
  if (plan.WholeEnds(degrees)) ends.tensor = 1;
  if (stage.embedding) {
    const ParameterCount count = EmbeddingParameters(model);
    sum += OfBits(static_cast<double>(EmbeddingParametersOf(model, ends) +
                                      count.positions + count.norms),
                  wide);
  }
  if (!stage.head) return sum;
  const ParameterCount count = HeadParameters(model);
  const int64_t head = (count.head + ends.tensor - 1) / ends.tensor;
  const double head_bits =
      plan.engine().narrow_head && plan.weight() ? stored : wide;
  sum += OfBits(static_cast<double>(head), head_bits) +
         OfBits(static_cast<double>(count.norms), wide);
  if (stage.embedding_copy) {
    sum +=
        OfBits(static_cast<double>(EmbeddingParametersOf(model, ends)), wide);
  }
  if (plan.speculation() && plan.speculation()->prediction_module) {
    const ParameterCount block = LayerParameters(model, model.layers());
    const int64_t rest = MtpModuleParameters(model, 0) - block.total();
    sum += layer_bytes(model.layers()) +
           OfBits(static_cast<double>(rest) / degrees.tensor, stored);
  }
  return sum;
}

Bytes StageCache(const Model& model, const InferencePlan& plan,
                 const ParallelLayout& layout, const Stage& stage,
                 int64_t tokens) {
  const int block = plan.kv_block();
  const int64_t elements =
      KvCacheElementsPerTokenAndLayer(model, layout.degrees.tensor);
  Bytes sum;
  const auto add = [&](int layer) {
    const std::optional<int> window = model.Window(layer);
    const int64_t held = window ? std::min<int64_t>(tokens, *window) : tokens;
    // Context ranks have a part of each sequence.
    const int64_t part =
        (held + layout.degrees.context - 1) / layout.degrees.context;
    const int64_t blocks = (part + block - 1) / block;
    sum += StorageBytes(plan.kv_precision(), blocks * block * elements);
  };
  for (int i = 0; i < stage.layers; ++i) add(stage.first_layer + i);
  if (stage.head && plan.speculation() &&
      plan.speculation()->prediction_module) {
    add(model.layers());
  }
  return sum;
}

Bytes PassActivations(const Model& model, const InferencePlan& plan,
                      PassPurpose phase, int64_t sequences) {
  const Degrees& degrees = plan.layout(phase).degrees;
  const bool decodes = phase == PassPurpose::kDecode;
  const int64_t beside = decodes ? 0 : plan.decode_beside() / degrees.data;
  const int64_t queries = decodes ? plan.queries() : plan.prefill_chunk();
  // No more prompts at a time than one step takes.
  const int64_t together =
      decodes ? sequences
              : std::min(sequences,
                         std::max<int64_t>(
                             1, plan.engine().max_step_tokens / queries));
  const int64_t tokens =
      together * queries / (decodes ? 1 : degrees.context) + beside;
  const int64_t logits = together * (decodes ? queries : 1) + beside;
  const int64_t row = 2 * int64_t{model.hidden()} + WidestRow(model, degrees);
  const int64_t vocabulary =
      (model.vocabulary() + degrees.tensor - 1) / degrees.tensor;
  // Of parts that follow one another, one at a time. Logits as the product
  // writes them, and gathered in FP32.
  return StorageBytes(plan.activation(), (tokens * row + logits * vocabulary) /
                                             plan.micro_batches()) +
         StorageBytes(DType::kFp32, logits * int64_t{model.vocabulary()} /
                                        plan.micro_batches());
}

std::vector<InferenceMemory> MemoryByStage(const Model& model,
                                           const InferencePlan& plan,
                                           PassPurpose phase, Bytes reserved,
                                           int64_t sequences, int64_t tokens) {
  const ParallelLayout& layout = plan.layout(phase);
  const bool pools = plan.disaggregated();
  Bytes activations = PassActivations(model, plan, phase, sequences);
  if (!pools) {
    activations = std::max(
        activations,
        PassActivations(model, plan, PassPurpose::kPrefill, sequences));
  }
  const int64_t beside = phase == PassPurpose::kDecode && pools
                             ? 0
                             : plan.decode_beside() / layout.degrees.data;
  std::vector<InferenceMemory> stages;
  for (const Stage& stage : CutStages(model, layout)) {
    stages.push_back({.weights = StageWeights(model, plan, layout, stage),
                      .cache = StageCache(model, plan, layout, stage, tokens) *
                               (sequences + beside),
                      .activations = activations,
                      .buffers = reserved + plan.engine().graph_memory});
  }
  return stages;
}

std::vector<InferenceMemory> MemoryByStage(const Model& model,
                                           const InferencePlan& plan,
                                           PassPurpose phase, Bytes reserved) {
  // A pool for prefill holds prompts only.
  const bool prompts = plan.disaggregated() && phase != PassPurpose::kDecode;
  const int batch = prompts ? plan.prefill_batch() : plan.batch();
  return MemoryByStage(model, plan, phase, reserved,
                       batch / plan.layout(phase).degrees.data,
                       prompts ? plan.prompt() : plan.context());
}

InferenceMemory MemoryOf(const Model& model, const InferencePlan& plan,
                         Bytes reserved) {
  const std::vector<InferenceMemory> stages =
      MemoryByStage(model, plan, PassPurpose::kDecode, reserved);
  return *std::max_element(
      stages.begin(), stages.end(),
      [](const auto& a, const auto& b) { return a.total() < b.total(); });
}

Bytes CacheRoom(const EngineProfile& engine, const InferenceMemory& held,
                Bytes device) {
  const auto share = [&](Bytes bytes) {
    return Bytes(static_cast<int64_t>(engine.memory_fraction *
                                      static_cast<double>(bytes.value())));
  };
  const Bytes rest = held.activations + held.buffers;
  const Bytes free = device - held.weights - rest;
  switch (engine.memory_policy) {
    case MemoryPolicy::kShareOfDevice:
      return share(device) - held.weights - rest;
    case MemoryPolicy::kShareForWeightsAndCache:
      return std::min(share(device) - held.weights, free);
    case MemoryPolicy::kShareOfFree:
      return free > Bytes(0) ? share(free) : free;
    case MemoryPolicy::kAsNeeded:
      break;
  }
  return free;
}

CacheCapacity CapacityOf(const Model& model, const InferencePlan& plan,
                         Bytes device, Bytes reserved) {
  const auto fits = [&](int64_t sequences, int64_t tokens) {
    for (const InferenceMemory& held : MemoryByStage(
             model, plan, PassPurpose::kDecode, reserved, sequences, tokens)) {
      if (held.cache > CacheRoom(plan.engine(), held, device)) return false;
    }
    return true;
  };
  const int data = plan.decode().degrees.data;
  const int64_t sequences = plan.batch() / data;
  CacheCapacity capacity;
  capacity.cache = device;
  for (const InferenceMemory& held :
       MemoryByStage(model, plan, PassPurpose::kDecode, reserved)) {
    capacity.cache =
        std::min(capacity.cache, CacheRoom(plan.engine(), held, device));
  }
  capacity.fits = fits(sequences, plan.context());
  // Sizes are bounded so that no byte count overflows.
  capacity.largest_batch =
      data *
      Largest(std::min<int64_t>(kMostSequences, plan.engine().max_batch),
              [&](int64_t count) { return fits(count, plan.context()); });
  capacity.longest_context = Largest(
      kLongest, [&](int64_t tokens) { return fits(sequences, tokens); });
  return capacity;
}

}  // namespace orrery
