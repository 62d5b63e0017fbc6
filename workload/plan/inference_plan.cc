#include "workload/plan/inference_plan.h"

#include <algorithm>
#include <tuple>

#include "base/format.h"
#include "proto/inference.pb.h"
#include "topology/machine/field_reader.h"
#include "workload/plan/divisors.h"
#include "workload/plan/exchange_family.h"
#include "workload/plan/plan_limits.h"

namespace orrery {
namespace {

constexpr int kMostServingMicroBatches = 1 << 10;
constexpr int kMostRedundant = 1 << 12;
// Of prefill: that differ, and in all.
constexpr int64_t kMostChunks = 1 << 13;
constexpr int64_t kMostPasses = 1 << 20;

}  // namespace

double Speculation::TokensPerStep() const {
  double tokens = 1;
  double right = 1;
  for (int i = 0; i < drafts; ++i) {
    right *= acceptance;
    tokens += right;
  }
  return tokens;
}

class InferencePlanReader {
 public:
  InferencePlanReader(const pb::Inference& proto, const Model& model,
                      const System& system, const System* prefill)
      : proto_(proto),
        model_(model),
        system_(system),
        prefill_(prefill != nullptr ? *prefill : system),
        apart_(prefill != nullptr),
        fields_(proto, "inference", &violations_) {}

  absl::StatusOr<InferencePlan> Read() {
    ReadSizes();
    ReadPrecision();
    ReadExperts();
    ReadPhases();
    ReadEngine();
    ReadSteps();
    ReadContext();
    ReadSpeculation();
    RETURN_IF_ERROR(violations_.ToStatus());
    plan_.prefill_on_node_ =
        MembersOnNode(plan_.prefill_, prefill_.chips_per_node());
    plan_.decode_on_node_ =
        MembersOnNode(plan_.decode_, system_.chips_per_node());
    return std::move(plan_);
  }

 private:
  DType Format(const char* name) const {
    const auto dtype = fields_.Enum<pb::DType>(name);
    return dtype == pb::DTYPE_UNSPECIFIED ? DType::kBf16 : FromProto(dtype);
  }

  void ReadSizes() {
    plan_.batch_ = fields_.Count("batch", 1, kLargestBatch);
    plan_.prompt_ = fields_.Count("prompt", 1, kLargestSequence);
    plan_.output_ = fields_.Count("output", 1, kLargestSequence);
    if (model_.position() == PositionEncoding::kLearned &&
        plan_.context() > model_.learned_positions()) {
      fields_.Refuse("output",
                     fmt::format("prompt {} + output {} is more than the {} "
                                 "learned positions of {}",
                                 plan_.prompt_, plan_.output_,
                                 model_.learned_positions(), model_.name()));
    }
  }

  void ReadPrecision() {
    plan_.precision_ = Format("precision");
    for (const Chip* chip : {&system_.chip(), &prefill_.chip()}) {
      if (chip->peak(plan_.precision_)) continue;
      fields_.Refuse(
          "precision",
          fmt::format("{} has no {} units; weights alone can be stored in it "
                      "(weight_precision)",
                      chip->name(), Name(plan_.precision_)));
      break;
    }
    plan_.kv_precision_ = Format("kv_precision");
    if (proto_.has_weight_precision()) {
      const DType weight = Format("weight_precision");
      if (Bits(weight) > Bits(plan_.precision_)) {
        fields_.Refuse("weight_precision",
                       fmt::format("{} is wider than the products' {}; leave "
                                   "it unset",
                                   Name(weight), Name(plan_.precision_)));
      }
      if (Bits(weight) < Bits(plan_.precision_)) plan_.weight_ = weight;
    }
    if (proto_.has_weight_group()) {
      plan_.weight_group_ =
          fields_.Count("weight_group", 1, kLargestWeightGroup);
      if (!plan_.weight_ || Bits(*plan_.weight_) > 8) {
        fields_.Refuse("weight_group",
                       "only weights that are stored narrower than they are "
                       "multiplied have scales of their own "
                       "(weight_precision); leave it unset");
      }
    }
    plan_.dispatch_precision_ = plan_.activation();
    if (proto_.has_dispatch_precision()) {
      plan_.dispatch_precision_ = Format("dispatch_precision");
      if (!model_.moe()) {
        fields_.Refuse(
            "dispatch_precision",
            fmt::format("{} has no experts; leave it out", model_.name()));
      }
    }
  }

  void ReadExperts() {
    if (proto_.has_redundant_experts()) {
      plan_.redundant_experts_ =
          fields_.Count("redundant_experts", 0, kMostRedundant);
    }
    if (proto_.has_expert_imbalance() && model_.moe()) {
      const double imbalance =
          fields_.Real("expert_imbalance", 1, model_.moe()->experts);
      if (imbalance > 1) {
        if (plan_.redundant_experts_ > 0) {
          fields_.Refuse("expert_imbalance",
                         "copies of experts are there to even loads out: set "
                         "it to 1, or redundant_experts to 0");
        }
        routing_ = ExpertRouting::OneHot(model_.moe()->experts, imbalance);
      }
    }
    for (const char* name : {"redundant_experts", "expert_imbalance"}) {
      if (fields_.Has(name) && !model_.moe()) {
        fields_.Refuse(name, fmt::format("{} has no experts; leave it out",
                                         model_.name()));
      }
    }
  }

  // The layout of one phase on `chips` chips.
  ParallelLayout ReadPhase(const pb::Parallel& proto, const char* path,
                           int64_t chips, int batch) {
    const FieldReader fields(proto, path, &violations_);
    const Degrees degrees = ReadDegrees(proto, fields);
    CheckDegrees(degrees, model_, chips, plan_.prompt_, fields,
                 plan_.redundant_experts_);
    if (fields_.Has("batch") && degrees.data > 0 && batch % degrees.data != 0) {
      fields.Refuse("data", fmt::format("{} replicas must divide the batch of "
                                        "{}; nearest: {}",
                                        degrees.data, batch,
                                        NearestDivisors(batch, degrees.data)));
    }
    if (proto.rank_map_size() > 0) {
      fields.Refuse("rank_map",
                    "ranks of inference lie in order; leave it out");
    }
    const int pipeline = degrees.pipeline;
    if (model_.layers() % pipeline != 0) {
      fields.Refuse("pipeline",
                    fmt::format("{} must divide the {} layers; nearest: {}",
                                pipeline, model_.layers(),
                                NearestDivisors(model_.layers(), pipeline)));
    }
    ParallelLayout layout{
        .degrees = degrees,
        .stages = StageLayout(PipelineSchedule::kOneForwardOneBackward,
                              pipeline, /*virtual_stages=*/1),
        .layers_per_stage = std::vector<int>(static_cast<size_t>(pipeline),
                                             model_.layers() / pipeline)};
    layout.routing = routing_;
    return layout;
  }

  void ReadPhases() {
    plan_.disaggregated_ = proto_.has_disaggregated();
    plan_.prefill_batch_ = plan_.batch_;
    if (!plan_.disaggregated_) {
      plan_.prefill_ = ReadPhase(proto_.parallel(), "inference.parallel",
                                 system_.chips(), plan_.batch_);
      plan_.decode_ = plan_.prefill_;
      return;
    }
    const auto& pools = proto_.disaggregated();
    const FieldReader pool_fields(pools, "inference.disaggregated",
                                  &violations_);
    const int prefill = pool_fields.Count("prefill_chips", 1, kLargestBatch);
    const int decode = pool_fields.Count("decode_chips", 1, kLargestBatch);
    if (apart_) {
      for (const auto& [name, count, machine] :
           {std::tuple{"prefill_chips", prefill, &prefill_},
            std::tuple{"decode_chips", decode, &system_}}) {
        if (count == machine->chips()) continue;
        pool_fields.Refuse(name,
                           fmt::format("{}, but its machine has {} chips; "
                                       "leave it out, or change the nodes",
                                       count, machine->chips()));
      }
    } else if (int64_t{prefill} + decode != system_.chips()) {
      pool_fields.Refuse(
          "decode_chips",
          fmt::format("{} + {} prefill_chips are not the {} "
                      "chips of the system; leave one of the two "
                      "out",
                      decode, prefill, system_.chips()));
    }
    plan_.prefill_batch_ =
        pools.has_prefill_batch()
            ? pool_fields.Count("prefill_batch", 1, kLargestBatch)
            : std::max(1, pools.prefill_parallel().data());
    plan_.prefill_ = ReadPhase(pools.prefill_parallel(),
                               "inference.disaggregated.prefill_parallel",
                               prefill, plan_.prefill_batch_);
    plan_.decode_ = ReadPhase(pools.decode_parallel(),
                              "inference.disaggregated.decode_parallel", decode,
                              plan_.batch_);
    if (proto_.has_parallel()) {
      fields_.Refuse("parallel",
                     "with separate pools, set the degrees of each pool "
                     "instead");
    }
  }

  void ReadSteps() {
    plan_.prefill_chunk_ =
        std::min({plan_.prompt_, plan_.engine_.max_step_tokens,
                  fields_.OptionalCount("prefill_chunk", 1, kLargestSequence)
                      .value_or(plan_.prompt_)});
    const int64_t chunks =
        (plan_.prompt_ + plan_.prefill_chunk_ - 1) / plan_.prefill_chunk_;
    const int64_t together = std::max<int64_t>(
        1, plan_.engine_.max_step_tokens / plan_.prefill_chunk_);
    const int64_t prompts =
        plan_.prefill_batch_ / std::max(1, plan_.prefill_.degrees.data);
    if (chunks > kMostChunks ||
        chunks * (prompts / together + 1) > kMostPasses) {
      fields_.Refuse("prompt",
                     fmt::format("{} prompts of {} tokens in chunks of {} are "
                                 "more steps than can be simulated ({} chunks, "
                                 "{} in all)",
                                 prompts, plan_.prompt_, plan_.prefill_chunk_,
                                 kMostChunks, kMostPasses));
    }
    const int sequences_at_most =
        plan_.batch_ / std::max(1, plan_.decode_.degrees.data);
    if (sequences_at_most > plan_.engine_.max_batch) {
      fields_.Refuse(
          "batch",
          fmt::format("{} are {} sequences per replica, but {} runs at most {} "
                      "together (engine.max_batch)",
                      plan_.batch_, sequences_at_most, plan_.engine_.name,
                      plan_.engine_.max_batch));
    }
    plan_.micro_batches_ =
        fields_.OptionalCount("micro_batches", 1, kMostServingMicroBatches)
            .value_or(1);
    plan_.overlap_halves_ = proto_.overlap_halves();
    for (const ParallelLayout* phase : {&plan_.prefill_, &plan_.decode_}) {
      const Degrees& degrees = phase->degrees;
      const int batch =
          phase == &plan_.prefill_ ? plan_.prefill_batch_ : plan_.batch_;
      const int sequences = batch / std::max(1, degrees.data);
      const int parts = plan_.micro_batches_ * (plan_.overlap_halves_ ? 2 : 1);
      if (sequences % parts != 0) {
        fields_.Refuse(
            plan_.overlap_halves_ ? "overlap_halves" : "micro_batches",
            fmt::format("{} parts must divide the {} sequences of a "
                        "replica; nearest: {}",
                        parts, sequences, NearestDivisors(sequences, parts)));
      }
    }
    if (proto_.has_decode_beside()) {
      plan_.decode_beside_ = fields_.Count("decode_beside", 0, kLargestBatch);
      const int parts = plan_.micro_batches_ * (plan_.overlap_halves_ ? 2 : 1);
      const int64_t cut =
          int64_t{parts} * std::max(1, plan_.prefill_.degrees.data);
      if (plan_.decode_beside_ % cut != 0) {
        fields_.Refuse("decode_beside",
                       fmt::format("{} must be a multiple of {}, the replicas "
                                   "times the parts of each",
                                   plan_.decode_beside_, cut));
      }
    }
  }

  void ReadContext() {
    const bool context =
        plan_.prefill_.degrees.context > 1 || plan_.decode_.degrees.context > 1;
    if (proto_.has_context_method()) {
      plan_.context_method_ = static_cast<ContextMethod>(
          fields_.Enum<pb::Training::ContextMethod>("context_method") - 1);
      if (!context) {
        fields_.Refuse("context_method",
                       "no phase has context ranks; leave it out");
      }
    }
    // Prompts are split over all heads; the cache of decoding is not.
    const Degrees& degrees = plan_.prefill_.degrees;
    const int heads = model_.attention().heads / std::max(1, degrees.tensor);
    if (plan_.context_method_ == ContextMethod::kUlysses && heads > 0 &&
        degrees.context > 1 && heads % degrees.context != 0) {
      fields_.Refuse("context_method",
                     fmt::format("CONTEXT_ULYSSES splits the {} heads of a "
                                 "tensor rank over context {}; nearest: {}",
                                 heads, degrees.context,
                                 NearestDivisors(heads, degrees.context)));
    }
    if (plan_.prefill_.degrees.context > 1 &&
        (plan_.prefill_chunk_ < plan_.prompt_ || plan_.decode_beside_ > 0)) {
      if (plan_.engine_.max_step_tokens < plan_.prompt_) {
        fields_.Refuse(
            "engine.max_step_tokens",
            fmt::format("context ranks share whole prompts, and {} takes {} of "
                        "{} tokens into a step; raise it",
                        plan_.engine_.name, plan_.engine_.max_step_tokens,
                        plan_.prompt_));
      } else {
        fields_.Refuse("prefill_chunk",
                       "context ranks share whole prompts; leave it unset, and "
                       "decode_beside at 0");
      }
    }
  }

  void ReadEngine() {
    const auto engine = fields_.Required("engine");
    if (engine) plan_.engine_ = ReadEngineProfile(*engine);
    if (system_.host()) plan_.engine_.SlowDown(system_.host()->python_slowdown);
    if (plan_.engine_.prefill_dispatch_by_node && model_.moe() &&
        plan_.prefill_.degrees.expert > prefill_.chips_per_node() &&
        plan_.prefill_.degrees.expert % prefill_.chips_per_node() == 0) {
      plan_.prefill_.dispatch_method = DispatchMethod::kByIsland;
    }
    if (proto_.has_graph_launch()) {
      plan_.engine_.decode_launch =
          proto_.graph_launch() ? EngineLaunch::kGraph
          : plan_.engine_.decode_launch == EngineLaunch::kGraph
              ? EngineLaunch::kEach
              : plan_.engine_.decode_launch;
    }
    if (const auto block =
            fields_.OptionalCount("kv_block", 1, kLargestBlock)) {
      plan_.engine_.kv_block = *block;
    }
  }

  void ReadSpeculation() {
    const auto fields = fields_.Optional("speculation");
    if (!fields) return;
    Speculation speculation;
    speculation.drafts =
        fields->Count("drafts", 1, static_cast<int>(kMostDecoded) - 1);
    speculation.acceptance = fields->Share("acceptance");
    speculation.prediction_module = fields->Flag("prediction_module");
    if (speculation.prediction_module) {
      if (model_.mtp_modules() == 0) {
        fields->Refuse("prediction_module",
                       fmt::format("{} has none; leave it out", model_.name()));
      }
      if (fields->Has("draft_cost")) {
        fields->Refuse("draft_cost",
                       "what the model's own prediction module costs is "
                       "simulated; leave it unset");
      }
    } else {
      speculation.draft_cost = fields->Real("draft_cost", 0, 1);
    }
    plan_.speculation_ = speculation;
  }

  const pb::Inference& proto_;
  const Model& model_;
  const System& system_;
  const System& prefill_;
  bool apart_;
  Violations violations_;
  FieldReader fields_;
  ExpertRouting routing_;
  InferencePlan plan_;
};

absl::StatusOr<InferencePlan> InferencePlan::FromProto(
    const pb::Inference& proto, const Model& model, const System& system,
    const System* prefill) {
  return InferencePlanReader(proto, model, system, prefill).Read();
}

}  // namespace orrery
