#include "workload/plan/stage.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "workload/model/parameters.h"
#include "workload/plan/stage_layout.h"

namespace orrery {
namespace {

// Whether the first and the last stage lie on different ranks.
bool EndsApart(const StageLayout& layout) {
  return layout.PlaceOf(0).rank != layout.PlaceOf(layout.stages() - 1).rank &&
         !layout.bidirectional();
}

// Attention parameters that every tensor rank has in full: the
// down-projections of latent attention with their norms, and key and value
// heads of which there are fewer than ranks.
int64_t AttentionOnRank(const Model& model, const Degrees& degrees,
                        int64_t attention) {
  const Attention& a = model.attention();
  const int64_t hidden = model.hidden();
  int64_t replicated = 0;
  if (a.is_latent()) {
    const int64_t latent = a.query_rank + a.kv_rank + a.rope_dimension;
    replicated = hidden * latent + a.query_rank + a.kv_rank;
    return replicated + (attention - replicated) / degrees.tensor;
  }
  const int64_t kv = hidden * (a.key_width() + a.value_width());
  if (degrees.tensor <= a.kv_heads) return attention / degrees.tensor;
  return (attention - kv) / degrees.tensor + kv / a.kv_heads;
}

}  // namespace

std::vector<Stage> CutStages(const Model& model, const ParallelLayout& layout) {
  std::vector<Stage> stages;
  stages.reserve(layout.layers_per_stage.size());
  int first = 0;
  for (const int layers : layout.layers_per_stage) {
    stages.push_back({.first_layer = first, .layers = layers});
    first += layers;
  }
  CHECK(!stages.empty());
  stages.front().embedding = true;
  stages.back().head = true;
  stages.back().embedding_copy =
      model.tied_embedding() && EndsApart(layout.stages);
  return stages;
}

RankParameters LayerParametersOf(const Model& model, const Degrees& degrees,
                                 int layer) {
  const ParameterCount count = LayerParameters(model, layer);
  const int t = degrees.tensor;
  return {.dense = AttentionOnRank(model, degrees, count.attention) +
                   (count.mlp + count.shared_experts) / t + count.router +
                   count.norms,
          .experts = count.experts / degrees.expert / degrees.expert_tensor};
}

int64_t EmbeddingParametersOf(const Model& model, const Degrees& degrees) {
  const int64_t vocabulary =
      (int64_t{model.vocabulary()} + degrees.tensor - 1) / degrees.tensor;
  return vocabulary * model.hidden();
}

RankParameters ParametersOf(const Model& model, const Degrees& degrees,
                            const Stage& stage) {
  RankParameters sum;
  for (int i = 0; i < stage.layers; ++i) {
    sum += LayerParametersOf(model, degrees, stage.first_layer + i);
  }
  if (stage.embedding) {
    const ParameterCount count = EmbeddingParameters(model);
    sum.dense +=
        EmbeddingParametersOf(model, degrees) + count.positions + count.norms;
  }
  if (!stage.head) return sum;
  const ParameterCount count = HeadParameters(model);
  sum.dense += count.norms + (count.head + degrees.tensor - 1) / degrees.tensor;
  if (stage.embedding_copy) sum.dense += EmbeddingParametersOf(model, degrees);
  for (int module = 0; module < model.mtp_modules(); ++module) {
    const int layer = model.layers() + module;
    const ParameterCount block = LayerParameters(model, layer);
    const RankParameters held = LayerParametersOf(model, degrees, layer);
    // Besides its block: norms and a projection that tensor ranks share.
    const int64_t rest = MtpModuleParameters(model, module) - block.total();
    sum += held;
    sum.dense += rest / degrees.tensor;
  }
  return sum;
}

LayerShape SplitOf(const ParallelLayout& layout,
                   std::vector<SequenceGroup> groups, int expert_place) {
  const Degrees& degrees = layout.degrees;
  return {.groups = std::move(groups),
          .tensor = degrees.tensor,
          .context = degrees.context,
          .expert = degrees.expert,
          .expert_tensor = degrees.expert_tensor,
          .sequence_parallel = degrees.sequence_parallel,
          .expert_load = layout.routing.LoadOf(expert_place, degrees.expert),
          .expert_peak = layout.routing.PeakOf(expert_place, degrees.expert),
          .routed = !layout.even_dispatch()};
}

LayerShape ShapeOf(const TrainingPlan& plan, int expert_place) {
  const DType precision = plan.precision();
  LayerShape shape =
      SplitOf(plan.layout(),
              {{.count = plan.micro_batch(), .queries = plan.sequence()}},
              expert_place);
  shape.context_method = plan.context_method();
  shape.attention = plan.attention_kernel();
  shape.precision = precision;
  // Narrow formats are for operands; what passes between kernels has 16 bits.
  shape.activation = Bits(precision) < 16 ? DType::kBf16 : precision;
  shape.gradient = plan.gradient_precision();
  shape.fuse_accumulation = plan.fuse_gradient_accumulation();
  shape.fusion = plan.framework().fusion;
  shape.separate_loss = plan.framework().separate_loss;
  shape.loss_in_parts = plan.framework().loss_in_parts;
  shape.keep_gathered = plan.framework().keep_gathered;
  shape.products_apart = plan.framework().products_apart;
  shape.repeats_key_values = plan.framework().repeats_key_values;
  shape.complex_rotation = plan.framework().complex_rotation;
  shape.norms_in_parts = plan.framework().norms_in_parts;
  shape.embeds_by_product = plan.framework().embeds_by_product;
  shape.dispatch = plan.dispatch_precision();
  shape.kept = plan.kept_formats();
  shape.routing_weight = plan.routing_weight();
  return shape;
}

bool RunsAgain(const LayerStep& step, const TrainingPlan& plan) {
  if (step.output_only && plan.framework().prunes_recomputation) return false;
  if (plan.recompute() == Recompute::kPerOp) return !step.kept_per_op;
  return plan.recompute() == Recompute::kFull ||
         step.modules.Meets(plan.recomputed_modules());
}

std::vector<LayerStep> RecomputedSteps(const LayerOps& ops,
                                       const TrainingPlan& plan) {
  std::vector<LayerStep> steps;
  if (!ops.checkpointed) return steps;
  for (const LayerStep& step : ops.forward) {
    if (RunsAgain(step, plan)) steps.push_back(step);
  }
  return steps;
}

Bytes KeptBytes(const LayerOps& ops, const TrainingPlan& plan) {
  if (!ops.checkpointed) return KeptBytes(ops, kNoModule);
  switch (plan.recompute()) {
    case Recompute::kFull:
      return KeptInputBytes(ops);
    case Recompute::kPerOp:
      return KeptPerOpBytes(ops, plan.framework().prunes_recomputation);
    case Recompute::kNone:
    case Recompute::kSelective:
    case Recompute::kPerModule:
      break;
  }
  return KeptBytes(ops, plan.recomputed_modules());
}

}  // namespace orrery
