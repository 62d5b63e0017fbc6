#include "catalog/defaults.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "catalog/layer_split.h"

namespace orrery {
namespace {

namespace gp = google::protobuf;

// Sets a field that is unset: FILL(plan, micro_batch, 1).
#define FILL(message, field, value) \
  if (!(message)->has_##field()) (message)->set_##field(value)

int64_t Chips(const pb::System& system) {
  return int64_t{system.nodes()} * system.chips_per_node();
}

// The data degree takes the chips that the other degrees leave, if that is a
// whole number; otherwise it stays unset and validation explains.
void FillDegrees(int64_t chips, pb::Parallel* parallel) {
  FILL(parallel, tensor, 1);
  FILL(parallel, context, 1);
  FILL(parallel, pipeline, 1);
  FILL(parallel, expert, 1);
  FILL(parallel, expert_tensor, 1);
  FILL(parallel, sequence_parallel, false);
  if (parallel->order_size() == 0) {
    for (const auto dimension :
         {pb::Parallel::TENSOR, pb::Parallel::CONTEXT, pb::Parallel::EXPERT,
          pb::Parallel::DATA, pb::Parallel::PIPELINE}) {
      parallel->add_order(dimension);
    }
  }
  if (parallel->has_data()) return;
  const double product = static_cast<double>(parallel->tensor()) *
                         parallel->context() * parallel->pipeline();
  if (product < 1 || product > static_cast<double>(chips)) return;
  const int64_t model_ranks = static_cast<int64_t>(product);
  const int64_t data = chips / model_ranks;
  if (chips % model_ranks == 0 && data <= std::numeric_limits<int32_t>::max()) {
    parallel->set_data(static_cast<int32_t>(data));
  }
}

void FillTorus(int64_t end_points, pb::Fabric* fabric) {
  if (!fabric->has_torus() || fabric->torus().shape_size() > 0) return;
  const int dimensions = fabric->torus().dimensions();
  if (dimensions < 1 || dimensions > 3 || end_points < 1 ||
      end_points > std::numeric_limits<int32_t>::max()) {
    return;
  }
  for (const int32_t side : EvenShape(end_points, dimensions)) {
    fabric->mutable_torus()->add_shape(side);
  }
}

// What the model of memory is off by on allocators of real runs
// (docs/accuracy.md), rounded down: a plan that is found by searching should
// not fail for it.
constexpr double kMemoryHeadroom = 0.05;

void FillFabric(pb::System* system) {
  if (!system->scale_up().has_fabric()) return;
  pb::ScaleUp* scale_up = system->mutable_scale_up();
  FillTorus(scale_up->spans_nodes() ? Chips(*system) : system->chips_per_node(),
            scale_up->mutable_fabric());
}

void FillSystem(pb::System* system) {
  FillFabric(system);
  FILL(system, memory_headroom, kMemoryHeadroom);
}

// Chips as a field holds them; what does not fit is for validation to refuse.
int32_t Fits(int64_t chips) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(chips, 0, std::numeric_limits<int32_t>::max()));
}

// Whatever of a part is yes or no, and is not said, is no: it shows as such.
// What a framework would do with a plan is not the plan.
void FillFlags(gp::Message* message) {
  const gp::Descriptor* type = message->GetDescriptor();
  if (type == pb::Training::descriptor() || type == pb::Source::descriptor()) {
    return;
  }
  const gp::Reflection& r = *message->GetReflection();
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const gp::FieldDescriptor* field = message->GetDescriptor()->field(i);
    if (field->message_type() != nullptr) {
      if (field->is_repeated()) {
        for (int e = 0; e < r.FieldSize(*message, field); ++e) {
          FillFlags(r.MutableRepeatedMessage(message, field, e));
        }
      } else if (r.HasField(*message, field)) {
        FillFlags(r.MutableMessage(message, field));
      }
    } else if (field->cpp_type() == gp::FieldDescriptor::CPPTYPE_BOOL &&
               !field->is_repeated() && !r.HasField(*message, field)) {
      r.SetBool(message, field, false);
    }
  }
}

void FillInference(int64_t chips, bool experts, pb::Inference* inference) {
  // Without sequence parallelism experts are split as the rest is.
  const auto split_experts = [&](pb::Parallel* parallel) {
    if (experts && !parallel->sequence_parallel()) {
      FILL(parallel, expert_tensor, std::max(1, parallel->tensor()));
    }
  };
  if (inference->has_disaggregated()) {
    auto* pools = inference->mutable_disaggregated();
    split_experts(pools->mutable_prefill_parallel());
    split_experts(pools->mutable_decode_parallel());
  } else {
    split_experts(inference->mutable_parallel());
  }
  if (!inference->has_disaggregated()) {
    FillDegrees(chips, inference->mutable_parallel());
  } else {
    auto* pools = inference->mutable_disaggregated();
    if (pools->has_prefill_system()) {
      FillSystem(pools->mutable_prefill_system());
      FILL(pools, prefill_chips, Fits(Chips(pools->prefill_system())));
      FILL(pools, decode_chips, Fits(chips));
    } else if (pools->has_prefill_chips()) {
      FILL(pools, decode_chips, Fits(chips - pools->prefill_chips()));
    } else if (pools->has_decode_chips()) {
      FILL(pools, prefill_chips, Fits(chips - pools->decode_chips()));
    }
    FillDegrees(pools->prefill_chips(), pools->mutable_prefill_parallel());
    FillDegrees(pools->decode_chips(), pools->mutable_decode_parallel());
  }
  if (inference->has_precision()) {
    FILL(inference, kv_precision, inference->precision());
  }
  if (inference->has_engine()) FillFlags(inference->mutable_engine());
  if (inference->has_disaggregated()) {
    auto* pools = inference->mutable_disaggregated();
    if (pools->has_prefill_system()) {
      FillFlags(pools->mutable_prefill_system());
      FillFlags(pools->mutable_prefill_kernels());
    }
  }
  FILL(inference, micro_batches, 1);
  FILL(inference, overlap_halves, false);
}

// A field that is unset becomes what the framework does, else `value`.
#define FILL_USUAL(field, value) \
  if (!training->has_##field())  \
  training->set_##field(usual.has_##field() ? usual.field() : (value))

void FillOverlap(const pb::Training& usual, pb::Training* training) {
  FILL_USUAL(overlap_gradient_reduction, true);
  FILL_USUAL(overlap_parameter_gather, true);
  FILL_USUAL(overlap_tensor, false);
  FILL_USUAL(overlap_weight_gradient, true);
  FILL_USUAL(fuse_gradient_accumulation, true);
  if (training->parallel().pipeline() > 1) {
    FILL_USUAL(overlap_pipeline, true);
    if (training->parallel().tensor() > 1 &&
        !training->parallel().sequence_parallel()) {
      FILL_USUAL(scatter_pipeline, true);
    }
  }
  FILL_USUAL(bucket, "40 MB");
}

void FillTraining(int64_t chips, const pb::Training& usual,
                  pb::Training* training) {
  FillDegrees(chips, training->mutable_parallel());
  FILL(training, micro_batch, 1);
  FILL(training, virtual_stages,
       training->schedule() == pb::Training::ZB_V ? 2 : 1);
  FILL(training, schedule,
       training->virtual_stages() > 1 ? pb::Training::INTERLEAVED_1F1B
                                      : pb::Training::ONE_F_ONE_B);
  FILL(training, sharding, pb::Training::ZERO_0);
  FILL(training, recompute, pb::Training::RECOMPUTE_NONE);
  FILL_USUAL(gradient_precision, pb::FP32);
  FILL_USUAL(attention_kernel, pb::Training::FLASH);
  FillOverlap(usual, training);
  FILL_USUAL(moment_precision, pb::FP32);
  if (training->sharding() >= pb::Training::ZERO_2) {
    FILL_USUAL(accumulate_locally, false);
  }
  if (training->sharding() == pb::Training::ZERO_3) {
    FILL_USUAL(reshard_after_forward, true);
    if (training->reshard_after_forward()) {
      FILL_USUAL(overlap_backward_gather, true);
    }
  }
  if (training->parallel().context() > 1) {
    FILL_USUAL(context_method, pb::Training::CONTEXT_RING);
  }
  if (training->parallel().expert() > 1) {
    if (training->expert_load_size() == 0) FILL(training, expert_imbalance, 1);
    FILL_USUAL(dispatch_method, pb::Training::DISPATCH_DIRECT);
    if (training->has_precision()) {
      FILL_USUAL(dispatch_precision, training->precision() == pb::FP8
                                         ? pb::BF16
                                         : training->precision());
    }
  }
}

// Layers are spread by cost where the framework does so, or where as many in
// every stage is not possible.
void FillLayers(const pb::Model& model, pb::Framework::LayerSplit split,
                pb::Training* training) {
  const int64_t stages =
      int64_t{training->parallel().pipeline()} * training->virtual_stages();
  // More layers than any model has are for validation to refuse.
  constexpr int kMostLayers = 1 << 16;
  if (training->layers_per_stage_size() > 0 || stages < 2 ||
      stages > model.layers() || model.layers() > kMostLayers) {
    return;
  }
  const bool by_cost = split == pb::Framework::SPLIT_BY_COST;
  if (model.layers() % stages == 0 && !by_cost) return;
  const auto count = static_cast<int>(stages);
  for (const int layers :
       by_cost ? SplitByCost(model, count) : SplitWithinShares(model, count)) {
    training->add_layers_per_stage(layers);
  }
}

// Chips and passes of one job, from the traces of ByteDance's sample jobs
// (StragglerAnalysis, arXiv 2505.05713): workers of one stage differ by 0.8 and
// 1.0 % in their medians, passes of one worker by 1.6 to 2.7 %.
constexpr double kDeviceSpread = 0.007;
constexpr double kPassJitter = 0.02;

void FillVariation(pb::Variation* variation) {
  FILL(variation, device_spread, kDeviceSpread);
  FILL(variation, pass_jitter, kPassJitter);
}

#undef FILL_USUAL
#undef FILL

}  // namespace

std::vector<int32_t> EvenShape(int64_t count, int dimensions) {
  std::vector<int32_t> shape;
  for (int left = dimensions; left > 1; --left) {
    int64_t side = 1;
    for (int64_t d = 1; d <= count; ++d) {
      double power = 1;
      for (int i = 0; i < left; ++i) power *= static_cast<double>(d);
      if (power > static_cast<double>(count)) break;
      if (count % d == 0) side = d;
    }
    shape.push_back(static_cast<int32_t>(side));
    count /= side;
  }
  shape.push_back(static_cast<int32_t>(count));
  return shape;
}

void FillTrainingDefaults(const pb::Scenario& scenario,
                          pb::Training* training) {
  FillTraining(Chips(scenario.system()), scenario.framework().training(),
               training);
  FillLayers(scenario.model(), scenario.framework().layer_split(), training);
}

void FillDefaults(pb::Scenario* scenario) {
  pb::Network* network = scenario->mutable_network();
  if (!network->has_fidelity()) network->set_fidelity(pb::Network::FLUID);
  if (scenario->has_model()) FillFlags(scenario->mutable_model());
  if (scenario->has_kernels()) FillFlags(scenario->mutable_kernels());
  if (scenario->has_system()) FillFlags(scenario->mutable_system());
  if (scenario->has_framework()) FillFlags(scenario->mutable_framework());
  const int64_t chips = Chips(scenario->system());
  if (scenario->has_system()) {
    FillSystem(scenario->mutable_system());
  }
  if (scenario->has_training()) {
    FillTrainingDefaults(*scenario, scenario->mutable_training());
    FillVariation(scenario->mutable_variation());
  }
  if (scenario->has_inference()) {
    FillInference(chips, scenario->model().has_moe(),
                  scenario->mutable_inference());
  }
}

}  // namespace orrery
