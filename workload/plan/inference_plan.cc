#include "workload/plan/inference_plan.h"

#include "base/format.h"
#include "proto/inference.pb.h"
#include "topology/machine/field_reader.h"
#include "workload/plan/divisors.h"

namespace orrery {
namespace {

constexpr int kLargestBatch = 1 << 24;
constexpr int kLargestSequence = 1 << 24;
constexpr int kLargestBlock = 1 << 16;

DType ReadDType(const FieldReader& fields, const char* name) {
  const auto dtype = fields.Enum<pb::DType>(name);
  return dtype == pb::DTYPE_UNSPECIFIED ? DType::kBf16 : FromProto(dtype);
}

// The layout of one phase on `chips` chips.
ParallelLayout ReadPhase(const pb::Parallel& proto, const char* path,
                         const Model& model, int64_t chips, int64_t tokens,
                         int batch, Violations* violations) {
  const FieldReader fields(proto, path, violations);
  const Degrees degrees = ReadDegrees(proto, fields);
  CheckDegrees(degrees, model, chips, tokens, fields);
  if (degrees.data > 0 && batch % degrees.data != 0) {
    fields.Refuse("data", fmt::format("{} replicas must divide the batch of "
                                      "{}; nearest: {}",
                                      degrees.data, batch,
                                      NearestDivisors(batch, degrees.data)));
  }
  if (model.layers() % degrees.pipeline != 0) {
    fields.Refuse(
        "pipeline",
        fmt::format("{} must divide the {} layers; nearest: {}",
                    degrees.pipeline, model.layers(),
                    NearestDivisors(model.layers(), degrees.pipeline)));
  }
  const int pipeline = degrees.pipeline;
  return {.degrees = degrees,
          .stages = StageLayout(PipelineSchedule::kOneForwardOneBackward,
                                pipeline, /*virtual_stages=*/1),
          .layers_per_stage = std::vector<int>(static_cast<size_t>(pipeline),
                                               model.layers() / pipeline)};
}

}  // namespace

absl::StatusOr<InferencePlan> InferencePlan::FromProto(
    const pb::Inference& proto, const Model& model, const System& system) {
  Violations violations;
  const FieldReader fields(proto, "inference", &violations);
  InferencePlan plan;
  plan.batch_ = fields.Count("batch", 1, kLargestBatch);
  plan.prompt_ = fields.Count("prompt", 1, kLargestSequence);
  plan.output_ = fields.Count("output", 1, kLargestSequence);
  if (model.position() == PositionEncoding::kLearned &&
      int64_t{plan.prompt_} + plan.output_ > model.learned_positions()) {
    fields.Refuse("output",
                  fmt::format("prompt {} + output {} is more than the {} "
                              "learned positions of {}",
                              plan.prompt_, plan.output_,
                              model.learned_positions(), model.name()));
  }

  plan.disaggregated_ = proto.has_disaggregated();
  if (plan.disaggregated_) {
    const auto& pools = proto.disaggregated();
    const FieldReader pool_fields(pools, "inference.disaggregated",
                                  &violations);
    const int prefill = pool_fields.Count("prefill_chips", 1, kLargestBatch);
    const int decode = pool_fields.Count("decode_chips", 1, kLargestBatch);
    if (int64_t{prefill} + decode != system.chips()) {
      pool_fields.Refuse("decode_chips",
                         fmt::format("{} + {} prefill_chips are not the {} "
                                     "chips of the system",
                                     decode, prefill, system.chips()));
    }
    plan.prefill_ = ReadPhase(pools.prefill_parallel(),
                              "inference.disaggregated.prefill_parallel", model,
                              prefill, plan.prompt_, plan.batch_, &violations);
    plan.decode_ = ReadPhase(pools.decode_parallel(),
                             "inference.disaggregated.decode_parallel", model,
                             decode, plan.prompt_, plan.batch_, &violations);
    if (proto.has_parallel()) {
      fields.Refuse("parallel",
                    "with separate pools, set the degrees of each pool "
                    "instead");
    }
  } else {
    plan.prefill_ =
        ReadPhase(proto.parallel(), "inference.parallel", model, system.chips(),
                  plan.prompt_, plan.batch_, &violations);
    plan.decode_ = plan.prefill_;
  }

  plan.precision_ = ReadDType(fields, "precision");
  if (!system.chip().peak(plan.precision_)) {
    fields.Refuse("precision",
                  fmt::format("{} has no {} units", system.chip().name(),
                              Name(plan.precision_)));
  }
  plan.kv_precision_ = ReadDType(fields, "kv_precision");
  plan.prefill_chunk_ =
      fields.OptionalCount("prefill_chunk", 1, kLargestSequence)
          .value_or(plan.prompt_);
  plan.graph_launch_ = proto.graph_launch();
  plan.kv_block_ = fields.Count("kv_block", 1, kLargestBlock);
  RETURN_IF_ERROR(violations.ToStatus());
  return plan;
}

}  // namespace orrery
