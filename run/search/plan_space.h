#pragma once
// PlanSpace: the training plans a search looks at, for one model on one
// machine.
//
// Every combination of
//   tensor         divisors of the chips and the heads, up to 64
//   context        up to 64, as long as a rank has 1024 tokens of a sequence
//   pipeline       up to the layers; data takes the chips that are left
//   expert         divisors of the experts; its tensor degree 1 or the layer's
//   sequence       split over tensor ranks or not
//   micro-batch    powers of two up to 16
//   schedule       1F1B, ZB-H1, ZB-V, DualPipe, interleaved with up to 8 pieces
//                  (GPipe is never faster than 1F1B and holds more)
//   sharding       ZeRO 0 to 3
//   recomputation  none, attention, norms and activations, by op, layers
//   context method, dispatch method, data or pipeline faster over the chips
// that the framework offers or the scenario itself uses, except for fields that
// are kept as given; a kept method that the scenario has no use for is the
// default where a plan needs one. Whether a combination is legal is for
// TrainingPlan to say.
//
//   const PlanSpace space(scenario.proto, model, chips, {});
//   for (const KernelChoice& k : space.kernels())
//     space.ForEach(k, [&](const PlanChoice& choice) { ... });
#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <cstdint>
#include <string>
#include <vector>

#include "proto/scenario.pb.h"
#include "run/search/plan_choice.h"
#include "workload/model/model.h"

namespace orrery {

// What a search may be told to leave as it is.
enum class PlanAxis : uint8_t {
  kTensor,
  kContext,
  kPipeline,
  kExpert,
  kSequenceParallel,
  kMicroBatch,
  kSchedule,
  kSharding,
  kRecompute,
  kContextMethod,
  kDispatchMethod,
  kOrder,
};
inline constexpr int kPlanAxes = 12;
// "tensor", "micro_batch", ...; the field it decides.
std::string_view Name(PlanAxis axis);
// The axis of a field's name, with or without the path before it.
absl::StatusOr<PlanAxis> ParsePlanAxis(const std::string& name);

class PlanSpace {
 public:
  // `scenario` trains and has its defaults filled in. The model must outlive
  // the space.
  PlanSpace(const pb::Scenario& scenario, const Model& model, int64_t chips,
            absl::Span<const PlanAxis> kept);

  // In ascending order.
  const std::vector<KernelChoice>& kernels() const { return kernels_; }
  // A shape is a choice of pipeline, schedule and kernels; what else it holds
  // has no meaning.
  void ForEachShape(const KernelChoice& kernels,
                    absl::FunctionRef<void(const PlanChoice&)> visit) const;
  // The plans of a shape: sharding, recomputation, methods and order.
  void ForEachOf(const PlanChoice& shape,
                 absl::FunctionRef<void(const PlanChoice&)> visit) const;
  // Of these, those that recompute least and share out most: no other plan of
  // the shape takes less time for its kernels, or less memory for its state.
  // One for each way in which tokens and contexts travel.
  void ForEachLeastOf(const PlanChoice& shape,
                      absl::FunctionRef<void(const PlanChoice&)> visit) const;
  void ForEach(const KernelChoice& kernels,
               absl::FunctionRef<void(const PlanChoice&)> visit) const;
  // What was said, as a choice.
  const PlanChoice& said() const { return said_; }

 private:
  bool Keeps(PlanAxis axis) const { return kept_[static_cast<size_t>(axis)]; }
  bool Splits(pb::Parallel::Dimension dimension) const;
  std::vector<int> Tensors() const;
  std::vector<int> Contexts(int tensor) const;
  std::vector<int> Experts() const;
  void AddKernels(int tensor, int context);
  void ForEachSchedule(PlanChoice choice,
                       absl::FunctionRef<void(const PlanChoice&)> visit) const;
  void ForEachMethod(PlanChoice choice,
                     absl::FunctionRef<void(const PlanChoice&)> visit) const;
  std::vector<pb::Training::Sharding> Shardings(const PlanChoice& shape) const;
  std::vector<RecomputeChoice> Recomputations() const;

  const Model& model_;
  int64_t chips_;
  int global_batch_;
  int sequence_;
  PlanChoice said_;
  pb::Offers offers_;
  std::vector<bool> kept_ = std::vector<bool>(kPlanAxes);
  std::vector<KernelChoice> kernels_;
};

}  // namespace orrery
