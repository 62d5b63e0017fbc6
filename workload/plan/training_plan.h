#pragma once
// TrainingPlan: one optimizer step of training, split over a machine.
//
// Immutable and valid for the model and the system it was made with: degrees
// multiply to the chips, and everything that must divide does. Every rule that
// a plan breaks is reported, not only the first, with the field's path, its
// value and, where there is one, the nearest legal value.
#include <absl/status/statusor.h>

#include <cstdint>
#include <limits>
#include <optional>

#include "base/units.h"
#include "topology/machine/dtype.h"
#include "topology/machine/system.h"
#include "workload/model/layer_shape.h"
#include "workload/model/model.h"
#include "workload/model/module.h"
#include "workload/plan/framework.h"
#include "workload/plan/parallel_layout.h"

namespace orrery {

namespace pb {
class Training;
}  // namespace pb

// What a data-parallel rank does not keep in full: ZeRO stages 0 to 3, each
// including the ones before it.
enum class Sharding { kNone, kOptimizer, kGradients, kWeights };
enum class Recompute { kNone, kSelective, kFull, kPerModule, kPerOp };

class TrainingPlan {
 public:
  static absl::StatusOr<TrainingPlan> FromProto(
      const pb::Training& proto, const Model& model, const System& system,
      const Framework& framework = {}, const Variation& variation = {});

  // In sequences.
  int global_batch() const { return global_batch_; }
  int micro_batch() const { return micro_batch_; }
  // Tokens of one sequence.
  int sequence() const { return sequence_; }
  // How the work is split, and where its parts lie.
  const ParallelLayout& layout() const { return layout_; }
  const Degrees& degrees() const { return layout_.degrees; }
  // Micro-batches that one replica runs per step.
  int micro_batches() const { return micro_batches_; }

  PipelineSchedule schedule() const { return schedule_; }
  // Pieces of the model on one rank, 1 without interleaving.
  int virtual_stages() const { return virtual_stages_; }

  Sharding sharding() const { return sharding_; }
  // Sharded gradients are summed over micro-batches before they are reduced.
  bool accumulates_locally() const { return accumulate_locally_; }
  // Whether gradients are reduced after every micro-batch.
  bool reduces_every_micro_batch() const {
    return sharding_ >= Sharding::kGradients && !accumulate_locally_;
  }
  // Sharded weights are gathered for every pass, not once per step.
  bool reshards_after_forward() const { return reshard_after_forward_; }
  Recompute recompute() const { return recompute_; }
  // Whether the layer at this place of its stage, from 0, computes again what
  // is recomputed.
  bool RecomputesLayer(int place) const { return place < recompute_layers_; }
  // The same plan with everything kept.
  TrainingPlan WithoutRecompute() const {
    TrainingPlan plan = *this;
    plan.recompute_ = Recompute::kNone;
    plan.recomputed_modules_ = {};
    return plan;
  }
  // Modules that are recomputed; none under full recomputation, which is not a
  // matter of modules.
  ModuleSet recomputed_modules() const { return recomputed_modules_; }
  AttentionKernel attention_kernel() const { return attention_kernel_; }
  ContextMethod context_method() const { return context_method_; }
  DType precision() const { return precision_; }
  // Of gradients as they are kept and reduced.
  DType gradient_precision() const { return gradient_precision_; }
  // Of the optimizer's two moments.
  DType moment_precision() const { return moment_precision_; }
  // Of tensors that wait for the backward pass in a format of their own.
  const KeptFormats& kept_formats() const { return kept_formats_; }
  RoutingWeight routing_weight() const { return routing_weight_; }
  // Of tokens on their way to the experts.
  DType dispatch_precision() const { return dispatch_precision_; }
  // Gradients that are reduced at once, at the most.
  Bytes bucket() const { return bucket_; }
  bool overlap_gradient_reduction() const { return overlap_gradient_; }
  bool overlap_parameter_gather() const { return overlap_parameter_; }
  // The same for what backward passes gather; never without the above.
  bool overlap_backward_gather() const {
    return overlap_parameter_ && overlap_backward_;
  }
  bool overlap_tensor() const { return overlap_tensor_; }
  // Weight gradients run beside the exchange of their module's input gradient.
  bool overlap_weight_gradient() const { return overlap_weight_; }
  // A rank goes on while what it sends to another stage is under way.
  bool overlap_pipeline() const { return overlap_pipeline_; }
  // Tensor ranks send a share each to the next stage, which gathers them.
  bool scatter_pipeline() const { return scatter_pipeline_; }
  // The product of a weight gradient adds it to the sum by itself.
  bool fuse_gradient_accumulation() const { return fuse_accumulation_; }
  // The same plan with another number of micro-batches. Requires: a number that
  // its schedule takes; an even multiple of the pipeline's degree is one.
  TrainingPlan WithMicroBatches(int micro_batches) const {
    TrainingPlan plan = *this;
    plan.micro_batches_ = micro_batches;
    plan.global_batch_ = micro_batches * micro_batch_ * degrees().data;
    return plan;
  }
  // The software that runs it.
  const Framework& framework() const { return framework_; }
  // Of chips, and of passes on a chip.
  const Variation& variation() const { return variation_; }
  // Tokens of the whole run, if it is known.
  std::optional<double> run_tokens() const { return run_tokens_; }

 private:
  TrainingPlan() = default;
  friend class TrainingPlanReader;

  int global_batch_ = 0;
  int micro_batch_ = 0;
  int sequence_ = 0;
  int micro_batches_ = 0;
  ParallelLayout layout_;
  PipelineSchedule schedule_ = PipelineSchedule::kOneForwardOneBackward;
  int virtual_stages_ = 1;
  Sharding sharding_ = Sharding::kNone;
  Recompute recompute_ = Recompute::kNone;
  int recompute_layers_ = std::numeric_limits<int>::max();
  ModuleSet recomputed_modules_;
  AttentionKernel attention_kernel_ = AttentionKernel::kFlash;
  ContextMethod context_method_ = ContextMethod::kRing;
  DType precision_{};
  DType gradient_precision_{};
  DType dispatch_precision_{};
  DType moment_precision_ = DType::kFp32;
  KeptFormats kept_formats_;
  RoutingWeight routing_weight_ = RoutingWeight::kOnOutput;
  bool accumulate_locally_ = false;
  bool reshard_after_forward_ = true;
  bool overlap_backward_ = true;
  Bytes bucket_;
  bool overlap_gradient_ = false;
  bool overlap_parameter_ = false;
  bool overlap_tensor_ = false;
  bool overlap_weight_ = true;
  bool overlap_pipeline_ = true;
  bool scatter_pipeline_ = false;
  bool fuse_accumulation_ = true;
  Framework framework_;
  Variation variation_;
  std::optional<double> run_tokens_;
};

// What the kernels of a step take over those of a mean chip, because all wait
// for the slowest (see framework.h).
double KernelSlowness(const TrainingPlan& plan);

}  // namespace orrery
