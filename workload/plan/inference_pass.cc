#include "workload/plan/inference_pass.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

int PartsOf(const InferencePlan& plan) {
  return plan.micro_batches() * (plan.overlap_halves() ? 2 : 1);
}

}  // namespace

std::vector<InferencePass> PrefillPasses(const InferencePlan& plan) {
  const int data = plan.prefill().degrees.data;
  const int parts = PartsOf(plan);
  const int64_t beside = plan.decode_beside() / data;
  const int64_t chunk = plan.prefill_chunk();
  // As many prompts together as the engine takes into one step.
  const int64_t together = std::max<int64_t>(
      parts, (plan.engine().max_step_tokens - beside) / chunk / parts * parts);
  std::vector<InferencePass> passes;
  int64_t left = plan.prefill_batch() / data;
  while (left > 0) {
    const int64_t sequences = std::min(left, together);
    left -= sequences;
    for (int64_t done = 0; done < plan.prompt(); done += chunk) {
      InferencePass pass;
      pass.purpose = beside > 0 ? PassPurpose::kMixed : PassPurpose::kPrefill;
      pass.parts = parts;
      pass.sequences = sequences + beside;
      pass.groups.push_back(
          {.count = sequences / parts,
           .queries = std::min<int64_t>(chunk, plan.prompt() - done),
           .cached = done});
      if (beside > 0) {
        pass.groups.push_back({.count = std::max<int64_t>(1, beside / parts),
                               .queries = 1,
                               .cached = plan.prompt() + plan.output() / 2});
      }
      passes.push_back(std::move(pass));
    }
  }
  return passes;
}

InferencePass DecodePass(const InferencePlan& plan, int64_t cached) {
  const int64_t sequences = plan.batch() / plan.decode().degrees.data;
  const int parts = PartsOf(plan);
  return {.purpose = PassPurpose::kDecode,
          .groups = {{.count = sequences / parts,
                      .queries = plan.queries(),
                      .cached = cached}},
          .parts = parts,
          .sequences = sequences};
}

int64_t DecodeSteps(const InferencePlan& plan) {
  const int64_t tokens =
      plan.output() - (plan.engine().first_token_by_decode ? 0 : 1);
  if (!plan.speculation()) return tokens;
  return static_cast<int64_t>(std::ceil(static_cast<double>(tokens) /
                                        plan.speculation()->TokensPerStep()));
}

int64_t CachedInStep(const InferencePlan& plan, int64_t step) {
  const int64_t first =
      plan.prompt() - (plan.engine().first_token_by_decode ? 1 : 0);
  if (!plan.speculation()) return first + step;
  return first + static_cast<int64_t>(static_cast<double>(step) *
                                      plan.speculation()->TokensPerStep());
}

LayerShape ShapeOf(const InferencePlan& plan, const InferencePass& pass,
                   int expert_place) {
  LayerShape shape =
      SplitOf(plan.layout(pass.purpose), pass.groups, expert_place);
  const EngineProfile& engine = plan.engine();
  shape.purpose = pass.purpose;
  shape.context_method = plan.context_method();
  shape.attention =
      engine.unfused_prefill && pass.purpose == PassPurpose::kPrefill
          ? AttentionKernel::kUnfused
          : AttentionKernel::kFlash;
  shape.fusion =
      engine.fuse_residual_norm ? Fusion::kResidualNorm : Fusion::kPointwise;
  shape.fuse_rotary = engine.fuse_rotary;
  shape.fuse_casts = engine.fuse_casts;
  shape.precision = plan.precision();
  shape.activation = plan.activation();
  shape.weight = plan.weight();
  shape.weight_group = plan.weight_group();
  shape.whole_ends = plan.WholeEnds(plan.layout(pass.purpose).degrees);
  shape.narrow_head = engine.narrow_head;
  shape.gate_apart =
      plan.weight().has_value() && engine.library_weights == plan.weight();
  shape.dispatch = plan.dispatch_precision();
  shape.cache = plan.kv_precision();
  shape.redundant_experts = plan.redundant_experts();
  shape.ungrouped_decode = engine.ungrouped_attention;
  if (pass.purpose == PassPurpose::kDecode) {
    shape.cache_split = shape.context;
    shape.context = 1;
  }
  return shape;
}

LayerShape DraftShapeOf(const InferencePlan& plan, const InferencePass& pass,
                        int expert_place) {
  LayerShape shape = ShapeOf(plan, pass, expert_place);
  for (SequenceGroup& group : shape.groups) group.queries = 1;
  return shape;
}

Bytes BoundaryBytes(const Model& model, const LayerShape& shape) {
  const int64_t whole = shape.tokens() * model.hidden();
  return StorageBytes(shape.activation,
                      shape.sequence_parallel
                          ? (whole + shape.tensor - 1) / shape.tensor
                          : whole);
}

}  // namespace orrery
