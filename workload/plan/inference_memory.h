#pragma once
// What an inference rank holds: weights, key-value cache, activations, graphs
// and the run-time; and how much fits.
//
//   const InferenceMemory held = MemoryOf(model, plan, reserved);
//   held.total() <= capacity
//   const CacheCapacity fits = CapacityOf(model, plan, device, reserved);
//
// Of the rank that holds most, over the stages of the phase. The cache is
// paged: every sequence takes whole blocks; a layer with a window holds no more
// than it. Key-value heads of which there are fewer than tensor ranks, and the
// latent, are on every tensor rank. Weights are in their stored format with its
// scales, but for embedding, head, routers and norms, which keep 16 bits.
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "workload/model/model.h"
#include "workload/plan/inference_plan.h"
#include "workload/plan/stage.h"

namespace orrery {

struct InferenceMemory {
  Bytes weights;
  Bytes cache;
  Bytes activations;
  // Run-time and libraries, captured graphs.
  Bytes buffers;
  Bytes total() const { return weights + cache + activations + buffers; }
};

// Bytes of the weights of one rank of a stage.
Bytes StageWeights(const Model& model, const InferencePlan& plan,
                   const ParallelLayout& layout, const Stage& stage);

// Bytes that one sequence of `tokens` takes on one rank of a stage, in whole
// blocks.
Bytes StageCache(const Model& model, const InferencePlan& plan,
                 const ParallelLayout& layout, const Stage& stage,
                 int64_t tokens);

// What lives while a pass over so many sequences of a replica runs, on one
// rank: the widest tensors, and logits.
Bytes PassActivations(const Model& model, const InferencePlan& plan,
                      PassPurpose phase, int64_t sequences);

// Of each stage of a phase, with so many sequences per replica of so many
// tokens, or at the end of the plan's own; `reserved` is what libraries keep
// for themselves. Without separate pools it holds for both phases.
std::vector<InferenceMemory> MemoryByStage(const Model& model,
                                           const InferencePlan& plan,
                                           PassPurpose phase, Bytes reserved,
                                           int64_t sequences, int64_t tokens);
std::vector<InferenceMemory> MemoryByStage(const Model& model,
                                           const InferencePlan& plan,
                                           PassPurpose phase, Bytes reserved);
// The fullest of the decode phase.
InferenceMemory MemoryOf(const Model& model, const InferencePlan& plan,
                         Bytes reserved);

// What an engine's policy leaves for the cache beside the rest of `held`.
Bytes CacheRoom(const EngineProfile& engine, const InferenceMemory& held,
                Bytes device);

// Under the engine's policy, with a batch of the plan's prompts and outputs.
struct CacheCapacity {
  // What the cache may have, on the rank with least room for it.
  Bytes cache;
  // Sequences over all replicas at the plan's context; tokens of each sequence
  // at the plan's batch.
  int64_t largest_batch = 0;
  int64_t longest_context = 0;
  bool fits = false;
};
CacheCapacity CapacityOf(const Model& model, const InferencePlan& plan,
                         Bytes device, Bytes reserved);

}  // namespace orrery
