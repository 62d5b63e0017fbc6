#include "workload/plan/training_plan.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/format.h"
#include "proto/training.pb.h"
#include "topology/machine/field_reader.h"
#include "workload/plan/divisors.h"
#include "workload/plan/pipeline_rules.h"
#include "workload/plan/plan_limits.h"
#include "workload/plan/training_plan_rules.h"

namespace orrery {
namespace {

constexpr int kMostMicroBatches = 1 << 16;
constexpr int kMostVirtualStages = 1024;
constexpr double kMostRunTokens = 1e18;

PipelineSchedule ToSchedule(pb::Training::Schedule schedule) {
  switch (schedule) {
    case pb::Training::GPIPE:
      return PipelineSchedule::kGPipe;
    case pb::Training::INTERLEAVED_1F1B:
      return PipelineSchedule::kInterleaved;
    case pb::Training::ZB_H1:
      return PipelineSchedule::kZeroBubbleH1;
    case pb::Training::ZB_V:
      return PipelineSchedule::kZeroBubbleV;
    case pb::Training::DUAL_PIPE:
      return PipelineSchedule::kDualPipe;
    case pb::Training::ONE_F_ONE_B:
    case pb::Training::SCHEDULE_UNSPECIFIED:
      break;
  }
  return PipelineSchedule::kOneForwardOneBackward;
}

// The enums below stand in the schema's order, after UNSPECIFIED.
template <class To, class From>
To Ordinal(From from) {
  return static_cast<To>(std::max(0, static_cast<int>(from) - 1));
}

}  // namespace

// Reads a pb::Training field by field and then checks rule by rule; goes on
// after a violation, so that all of them are reported.
class TrainingPlanReader {
 public:
  TrainingPlanReader(const pb::Training& proto, const Model& model,
                     const System& system)
      : proto_(proto),
        model_(model),
        system_(system),
        fields_(proto, "training", &violations_) {}

  absl::StatusOr<TrainingPlan> Read() {
    ReadSizes();
    const FieldReader parallel(proto_.parallel(), "training.parallel",
                               &violations_);
    plan_.layout_.degrees = ReadDegrees(proto_.parallel(), parallel);
    CheckDegrees(plan_.layout_.degrees, model_, system_.chips(),
                 plan_.sequence_, parallel);
    ReadMicroBatches();
    ReadPrecision();
    ReadPipeline();
    ReadSharding();
    ReadRecompute();
    ReadContext();
    ReadRest();
    RETURN_IF_ERROR(violations_.ToStatus());
    plan_.layout_.stages = StageLayout(
        plan_.schedule_, plan_.layout_.degrees.pipeline, plan_.virtual_stages_);
    return std::move(plan_);
  }

 private:
  void ReadSizes() {
    plan_.global_batch_ = fields_.Count("global_batch", 1, kLargestBatch);
    plan_.micro_batch_ = fields_.Count("micro_batch", 1, kLargestBatch);
    plan_.sequence_ = fields_.Count("sequence", 1, kLargestSequence);
    if (model_.position() == PositionEncoding::kLearned &&
        plan_.sequence_ > model_.learned_positions()) {
      fields_.Refuse("sequence",
                     fmt::format("{} tokens, but {} has learned positions for "
                                 "at most {}",
                                 plan_.sequence_, model_.name(),
                                 model_.learned_positions()));
    }
  }

  void ReadMicroBatches() {
    const int64_t per_round =
        int64_t{plan_.micro_batch_} * std::max(1, plan_.layout_.degrees.data);
    plan_.micro_batches_ = 1;
    if (!fields_.Has("global_batch")) return;
    if (plan_.global_batch_ % per_round != 0) {
      fields_.Refuse(
          "global_batch",
          fmt::format("{} must be a multiple of micro_batch x data = {} x {}; "
                      "nearest: {}",
                      plan_.global_batch_, plan_.micro_batch_,
                      plan_.layout_.degrees.data,
                      NearestMultiples(per_round, plan_.global_batch_)));
      return;
    }
    const int64_t count = plan_.global_batch_ / per_round;
    if (count > kMostMicroBatches) {
      fields_.Refuse(
          "global_batch",
          fmt::format("{} makes {} micro-batches per replica; at "
                      "most {} can be simulated",
                      plan_.global_batch_, count, kMostMicroBatches));
      return;
    }
    plan_.micro_batches_ = static_cast<int>(count);
  }

  void ReadPrecision() {
    plan_.precision_ = ReadDType("precision", /*has_peak=*/true);
    plan_.gradient_precision_ =
        ReadDType("gradient_precision", /*has_peak=*/false);
    plan_.dispatch_precision_ = proto_.has_dispatch_precision()
                                    ? ReadDType("dispatch_precision", false)
                                    : plan_.precision_;
    if (proto_.has_moment_precision()) {
      plan_.moment_precision_ = ReadDType("moment_precision", false);
    }
    for (const FieldReader& format : fields_.Each("keep_as")) {
      ReadKeptFormat(format);
    }
    if (proto_.has_routing_weight()) {
      plan_.routing_weight_ = Ordinal<RoutingWeight>(
          fields_.Enum<pb::Training::RoutingWeight>("routing_weight"));
      if (!model_.moe()) {
        fields_.Refuse(
            "routing_weight",
            fmt::format("{} has no experts; leave it out", model_.name()));
      }
    }
  }

  void ReadKeptFormat(const FieldReader& format) {
    const auto tensor = format.Enum<pb::KeptFormat::Tensor>("tensor");
    const auto dtype = format.Enum<pb::DType>("precision");
    if (dtype == pb::DTYPE_UNSPECIFIED) return;
    const DType kept = FromProto(dtype);
    const int computed = std::max(16, Bits(plan_.precision_));
    if (Bits(kept) > computed) {
      format.Refuse("precision",
                    fmt::format("{} has more than the {} bits it is computed "
                                "in",
                                Name(kept), computed));
    }
    const auto set = [&](std::optional<DType>& value) {
      if (value) format.Refuse("tensor", "is listed twice");
      value = kept;
    };
    switch (tensor) {
      case pb::KeptFormat::LINEAR_INPUT:
        return set(plan_.kept_formats_.linear_input);
      case pb::KeptFormat::ATTENTION_OUTPUT:
        return set(plan_.kept_formats_.attention_output);
      case pb::KeptFormat::ACTIVATION_INPUT:
        return set(plan_.kept_formats_.activation_input);
      case pb::KeptFormat::TENSOR_UNSPECIFIED:
        return;
    }
  }

  DType ReadDType(const char* name, bool has_peak) {
    const auto dtype = fields_.Enum<pb::DType>(name);
    if (dtype == pb::DTYPE_UNSPECIFIED) return DType::kBf16;
    const DType value = FromProto(dtype);
    if (has_peak && !system_.chip().peak(value)) {
      std::string names;
      for (const DType other : kAllDTypes) {
        if (!system_.chip().peak(other)) continue;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", Name(other));
      }
      fields_.Refuse(name,
                     fmt::format("{} has no {} units; it has {}",
                                 system_.chip().name(), Name(value), names));
    }
    return value;
  }

  void ReadPipeline() {
    plan_.schedule_ =
        ToSchedule(fields_.Enum<pb::Training::Schedule>("schedule"));
    plan_.virtual_stages_ =
        fields_.Count("virtual_stages", 1, kMostVirtualStages);
    CheckSchedule({plan_.schedule_, plan_.layout_.degrees.pipeline,
                   plan_.virtual_stages_, plan_.micro_batches_},
                  fields_);
    plan_.layout_.layers_per_stage = ReadLayersPerStage(
        proto_, model_.layers(), plan_.layout_.degrees.pipeline,
        plan_.virtual_stages_, fields_);
  }

  void ReadSharding() {
    plan_.sharding_ =
        Ordinal<Sharding>(fields_.Enum<pb::Training::Sharding>("sharding"));
    // Context ranks hold the same weights, so they share the state too.
    const int64_t copies = int64_t{std::max(1, plan_.layout_.degrees.data)} *
                           plan_.layout_.degrees.context;
    plan_.layout_.sharding_group = static_cast<int>(
        std::min<int64_t>(copies, std::numeric_limits<int>::max()));
    plan_.accumulate_locally_ = proto_.accumulate_locally();
    if (plan_.accumulate_locally_ && plan_.sharding_ < Sharding::kGradients) {
      fields_.Refuse("accumulate_locally",
                     "is about sharded gradients; needs sharding: ZERO_2 or "
                     "ZERO_3");
    }
    plan_.reshard_after_forward_ =
        !proto_.has_reshard_after_forward() || proto_.reshard_after_forward();
    if (!plan_.reshard_after_forward_ &&
        plan_.sharding_ != Sharding::kWeights) {
      fields_.Refuse("reshard_after_forward",
                     "is about sharded weights; needs sharding: ZERO_3");
    }
    plan_.overlap_backward_ = !proto_.has_overlap_backward_gather() ||
                              proto_.overlap_backward_gather();
    if (!plan_.overlap_backward_ && plan_.sharding_ != Sharding::kWeights) {
      fields_.Refuse("overlap_backward_gather",
                     "is about sharded weights; needs sharding: ZERO_3");
    } else if (!plan_.overlap_backward_ && !plan_.reshard_after_forward_) {
      fields_.Refuse("overlap_backward_gather",
                     "weights that stay gathered are not gathered for the "
                     "backward pass; needs reshard_after_forward: true");
    }
    if (!proto_.has_sharding_group()) return;
    plan_.layout_.sharding_group =
        fields_.Count("sharding_group", 1, kLargestBatch);
    if (copies % plan_.layout_.sharding_group != 0) {
      fields_.Refuse(
          "sharding_group",
          fmt::format("{} must divide data x context = {}; nearest: "
                      "{}",
                      plan_.layout_.sharding_group, copies,
                      NearestDivisors(copies, plan_.layout_.sharding_group)));
    }
  }

  void ReadRecompute() {
    plan_.recompute_ =
        Ordinal<Recompute>(fields_.Enum<pb::Training::Recompute>("recompute"));
    if (plan_.recompute_ == Recompute::kSelective) {
      plan_.recomputed_modules_ = Module::kAttentionCore;
    }
    for (const int module : proto_.recompute_module()) {
      if (module != pb::Training::MODULE_UNSPECIFIED) {
        plan_.recomputed_modules_ |= Ordinal<Module>(module);
      }
    }
    const auto missing = [&](Module module, bool has, const char* what) {
      if (!plan_.recomputed_modules_.Has(module) || has) return;
      fields_.Refuse("recompute_module",
                     fmt::format("{} has no {}; leave that module out",
                                 model_.name(), what));
    };
    missing(Module::kMoe, model_.moe().has_value(), "experts");
    missing(Module::kLatentUp, model_.attention().is_latent(),
            "latent attention");
    if (proto_.has_recompute_layers()) {
      // They are those of a stage, or of a piece of one; nothing is listed of a
      // pipeline that is refused.
      const std::vector<int>& stages = plan_.layout_.layers_per_stage;
      plan_.recompute_layers_ = fields_.Count(
          "recompute_layers", 1,
          stages.empty()
              ? model_.layers()
              : std::max(1, *std::max_element(stages.begin(), stages.end())));
      if (plan_.recompute_ == Recompute::kNone) {
        fields_.Refuse("recompute_layers",
                       "needs recompute: what of these layers is recomputed");
      }
    }
    const bool listed = proto_.recompute_module_size() > 0;
    if (listed != (plan_.recompute_ == Recompute::kPerModule)) {
      fields_.Refuse("recompute_module",
                     listed ? "needs recompute: RECOMPUTE_PER_MODULE"
                            : "RECOMPUTE_PER_MODULE needs at least one module");
    }
  }

  void ReadContext() {
    plan_.attention_kernel_ = Ordinal<AttentionKernel>(
        fields_.Enum<pb::Training::AttentionKernel>("attention_kernel"));
    if (plan_.layout_.degrees.context == 1) return;
    plan_.context_method_ = Ordinal<ContextMethod>(
        fields_.Enum<pb::Training::ContextMethod>("context_method"));
    const int heads = model_.attention().heads / plan_.layout_.degrees.tensor;
    if (plan_.context_method_ == ContextMethod::kUlysses && heads > 0 &&
        heads % plan_.layout_.degrees.context != 0) {
      fields_.Refuse(
          "context_method",
          fmt::format("CONTEXT_ULYSSES splits the {} heads of a tensor rank "
                      "over context {}; nearest: {}",
                      heads, plan_.layout_.degrees.context,
                      NearestDivisors(heads, plan_.layout_.degrees.context)));
    }
  }

  void ReadRest() {
    plan_.bucket_ = fields_.Positive<Bytes>("bucket");
    plan_.overlap_gradient_ = proto_.overlap_gradient_reduction();
    plan_.overlap_parameter_ = proto_.overlap_parameter_gather();
    plan_.overlap_tensor_ = proto_.overlap_tensor();
    plan_.overlap_weight_ = proto_.overlap_weight_gradient();
    plan_.overlap_pipeline_ = proto_.overlap_pipeline();
    plan_.scatter_pipeline_ = proto_.scatter_pipeline() &&
                              plan_.layout_.degrees.tensor > 1 &&
                              !plan_.layout_.degrees.sequence_parallel;
    plan_.fuse_accumulation_ = proto_.fuse_gradient_accumulation();
    plan_.run_tokens_ = fields_.OptionalReal("run_tokens", 1, kMostRunTokens);
    if (proto_.has_dispatch_method() && model_.moe()) {
      plan_.layout_.dispatch_method = Ordinal<DispatchMethod>(
          fields_.Enum<pb::Training::DispatchMethod>("dispatch_method"));
    }
    plan_.layout_.routing = ReadRouting(proto_, model_, fields_);
    plan_.layout_.rank_map = ReadRankMap(proto_, system_.chips(), fields_);
  }

  const pb::Training& proto_;
  const Model& model_;
  const System& system_;
  Violations violations_;
  FieldReader fields_;
  TrainingPlan plan_;
};

double KernelSlowness(const TrainingPlan& plan) {
  // A micro-batch passes forward and backward.
  return SlowestOf(plan.variation(), plan.degrees().ranks(),
                   int64_t{2} * plan.micro_batches());
}

absl::StatusOr<TrainingPlan> TrainingPlan::FromProto(
    const pb::Training& proto, const Model& model, const System& system,
    const Framework& framework, const Variation& variation) {
  absl::StatusOr<TrainingPlan> plan =
      TrainingPlanReader(proto, model, system).Read();
  if (!plan.ok()) return plan;
  plan->framework_ = framework;
  plan->variation_ = variation;
  return plan;
}

}  // namespace orrery
