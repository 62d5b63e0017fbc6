#pragma once
// GradientWriter: the data dimension of one role, and the end of its step.
//
// Gradients that belong together are reduced in buckets, each as soon as its
// last gradient is there. If the plan does not overlap them, what is reduced
// once per step comes after the whole backward pass, and what is reduced after
// every micro-batch is waited for before the next pass of a unit:
//
//   ZeRO-0     all-reduce of gradients at the end of the last micro-batch
//   ZeRO-1     reduce-scatter, then the optimizer on a share, then all-gather
//   ZeRO-2     the same, gradients reduced after every micro-batch, what fills
//              no bucket at the end of its backward pass
//   ZeRO-3     all-gather of a layer's weights before each of its passes, one
//              layer ahead; reduce-scatter after every backward pass; or, not
//              resharding, one all-gather before the first pass of the step
//
// Weights that are gathered without overlap come when the pass before is done.
// ZeRO-2 and 3 that accumulate locally reduce as ZeRO-1 does; until then whole
// gradients are in memory, from a unit's first backward pass on.
// With hybrid sharding the ranks that hold the same share add theirs up.
// Experts have groups of their own. Then come the tied embedding, the gradient
// norm over the whole replica, the optimizer, and the weights' all-gather.
#include <absl/container/flat_hash_set.h>

#include <optional>
#include <utility>
#include <vector>

#include "workload/lowering/role_slots.h"
#include "workload/lowering/training/step_context.h"
#include "workload/program/program_builder.h"

namespace orrery {

class GradientWriter {
 public:
  GradientWriter(const StepContext& context, RoleBuilder& role,
                 RoleSlots& slots);

  // Weights that have to come before a pass of `unit` may start; none if they
  // are there. `forward`, and `first` of the unit's micro-batches: which pass
  // it is. `inputs`: what else it waits for.
  std::vector<TaskRef> BeforePass(const StageUnit& unit, bool forward,
                                  bool first, absl::Span<const TaskRef> inputs);
  // The pass is written; `last` is its last kernel.
  void AfterPass(TaskRef last);
  // The gradients of `unit` from one micro-batch are computed from `first` to
  // `last`; `exits` are what the next pass waits for.
  void GradientReady(const StageUnit& unit, TaskRef first, TaskRef last,
                     absl::Span<const TaskRef> exits, bool last_micro_batch);
  // The backward pass of a stage is written.
  void EndBackward(bool last_micro_batch);
  // After the last pass. `last` is the last kernel of the role; `held` are its
  // parameters.
  void FinishStep(TaskRef last, const RankParameters& held, bool shares_tie);

  // What the optimizer takes when nothing is in the way.
  const WorkSplit& optimizer_work() const { return optimizer_work_; }
  // What hosts take to compare the calls that are written here.
  Duration check_work() const { return check_work_; }

 private:
  struct Bucket {
    int64_t dense = 0;
    int64_t experts = 0;
    std::vector<TaskRef> after;
  };

  bool overlaps_reduction() const {
    return plan().overlap_gradient_reduction() && !is_waited_for();
  }
  bool overlaps_gather(bool forward = true) const {
    return (forward ? plan().overlap_parameter_gather()
                    : plan().overlap_backward_gather()) &&
           !is_waited_for();
  }
  bool is_waited_for() const {
    return context_.options.waited.Has(Dimension::kData);
  }
  bool sharded(Sharding from) const { return plan().sharding() >= from; }
  const TrainingPlan& plan() const { return context_.plan; }
  Communication Call(CommunicationKind kind, Bytes bytes) const;
  // After `after`, and after hosts have compared the call if they do. Nothing
  // for a group of one.
  std::optional<TaskRef> Collective(GroupFamily family, CommunicationKind kind,
                                    Bytes bytes, const char* name,
                                    WorkPhase phase,
                                    absl::Span<const TaskRef> after,
                                    bool gathers = false);
  // Sums gradients of `parameters` over the copies; the task to wait for.
  void Reduce(bool experts, int64_t parameters, absl::Span<const TaskRef> after,
              bool across);
  std::vector<TaskRef> Gather(const RankParameters& parameters,
                              absl::Span<const TaskRef> after);
  void Flush(bool across);
  TaskRef AddOptimizer(const std::vector<TaskRef>& after,
                       const RankParameters& held);

  const StepContext& context_;
  RoleBuilder& role_;
  RoleSlots& slots_;
  Bucket bucket_;
  std::vector<Bucket> postponed_;
  std::vector<TaskRef> reductions_;
  // Units whose gradients are being summed on the rank.
  absl::flat_hash_set<std::pair<int, int>> accumulating_;
  // Last kernels of the passes before, for reading ahead by one unit.
  std::vector<TaskRef> recent_;
  WorkSplit optimizer_work_;
  Duration check_work_{};
};

}  // namespace orrery
