#pragma once
// InferencePass: one step of an inference engine, as a replica sees it.
//
//   for (const InferencePass& pass : PrefillPasses(plan)) ...   // chunk by
//   chunk const InferencePass step = DecodePass(plan, /*cached=*/4096); const
//   LayerShape shape = ShapeOf(plan, step);
//
// A replica's sequences go through the layers in `parts` equal parts, one after
// the other, or two taking turns.
#include <cstdint>
#include <vector>

#include "workload/model/layer_shape.h"
#include "workload/model/model.h"
#include "workload/plan/inference_plan.h"
#include "workload/plan/stage.h"

namespace orrery {

struct InferencePass {
  PassPurpose purpose = PassPurpose::kDecode;
  // Of one part.
  std::vector<SequenceGroup> groups;
  int parts = 1;
  // Of the replica, whose tokens the host takes out.
  int64_t sequences = 1;
  // The host's work between steps comes after it.
  bool ends_step = true;
  friend bool operator==(const InferencePass&, const InferencePass&) = default;
};

// The prompts of one prefill batch, chunk by chunk.
std::vector<InferencePass> PrefillPasses(const InferencePlan& plan);

// A decode step in which every sequence has `cached` tokens.
InferencePass DecodePass(const InferencePlan& plan, int64_t cached);

// Decode steps of a request, and the tokens that are cached in the i-th of
// them: those after the first token, or all if a prompt gives none by itself.
// With drafts a step brings several tokens on the mean.
int64_t DecodeSteps(const InferencePlan& plan);
int64_t CachedInStep(const InferencePlan& plan, int64_t step);

// What a rank at the given place of its expert group gets of a layer.
LayerShape ShapeOf(const InferencePlan& plan, const InferencePass& pass,
                   int expert_place = 0);
// Of the blocks that guess drafts: one token of each sequence.
LayerShape DraftShapeOf(const InferencePlan& plan, const InferencePass& pass,
                        int expert_place = 0);

// What a rank sends to the next stage, of one part.
Bytes BoundaryBytes(const Model& model, const LayerShape& shape);

}  // namespace orrery
