#pragma once
// Stage: what one pipeline stage holds of a model, and on one rank of it.
//
//   const std::vector<Stage> stages = CutStages(model, plan.layout());
//   const RankParameters held = ParametersOf(model, plan.degrees(), stages[0]);
//
// The embedding stands before the first layer, final norm, LM head, loss and
// multi-token-prediction modules after the last. A tied embedding is held by
// both ends where they lie on different ranks.
#include <cstdint>
#include <vector>

#include "workload/model/layer.h"
#include "workload/model/layer_shape.h"
#include "workload/model/model.h"
#include "workload/plan/training_plan.h"

namespace orrery {

struct Stage {
  int first_layer = 0;
  int layers = 0;
  bool embedding = false;
  bool head = false;
  // The head's weights are a copy of an embedding that lives elsewhere.
  bool embedding_copy = false;
  friend bool operator==(const Stage&, const Stage&) = default;
};

// Stages in model order.
std::vector<Stage> CutStages(const Model& model, const ParallelLayout& layout);

// Parameters of one rank. Experts are apart because their copies are elsewhere.
struct RankParameters {
  int64_t dense = 0;
  int64_t experts = 0;
  int64_t total() const { return dense + experts; }
  RankParameters& operator+=(const RankParameters& other) {
    dense += other.dense;
    experts += other.experts;
    return *this;
  }
  friend bool operator==(const RankParameters&,
                         const RankParameters&) = default;
};

RankParameters LayerParametersOf(const Model& model, const Degrees& degrees,
                                 int layer);
// The tensor rank's share of the vocabulary, both ways of it.
int64_t EmbeddingParametersOf(const Model& model, const Degrees& degrees);
RankParameters ParametersOf(const Model& model, const Degrees& degrees,
                            const Stage& stage);

// What a rank at the given place of its expert group gets of a layer for these
// sequences under the layout, in the usual formats.
LayerShape SplitOf(const ParallelLayout& layout,
                   std::vector<SequenceGroup> groups, int expert_place = 0);
// One micro-batch of the plan, as the layers of such a rank see it.
LayerShape ShapeOf(const TrainingPlan& plan, int expert_place = 0);

// The forward steps that run again before the gradients of `ops`; and whether
// one of a layer that is checkpointed does.
bool RunsAgain(const LayerStep& step, const TrainingPlan& plan);
std::vector<LayerStep> RecomputedSteps(const LayerOps& ops,
                                       const TrainingPlan& plan);

// Bytes of `ops` that live from forward to backward under the plan.
Bytes KeptBytes(const LayerOps& ops, const TrainingPlan& plan);

}  // namespace orrery
