#pragma once
// What a training rank holds all the time: weights, gradients, optimizer state.
//
// Mixed-precision Adam keeps per parameter a 16-bit weight, a gradient, and an
// FP32 master weight with two moments (12 bytes if they are FP32, 8 if BF16);
// FP32 training has no separate master. ZeRO-1 divides the optimizer state over
// the ranks that share it, ZeRO-2 also the gradients, ZeRO-3 also the weights
// (Rajbhandari et al., arXiv 1910.02054), and then whole layers live for a
// moment in buffers. Copies that a framework makes of gradients in a step count
// as held all the time: they are as large as nothing else, so that the
// allocator keeps their blocks beside those of activations.
//
// Activations are not here: how many live at once is the schedule's matter.
#include "base/units.h"
#include "workload/plan/placement.h"
#include "workload/plan/stage.h"
#include "workload/plan/training_plan.h"

namespace orrery {

struct StaticMemory {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  // Gathered layers of ZeRO-3, gradient buckets and copies.
  Bytes buffers;
  Bytes total() const { return weights + gradients + optimizer + buffers; }
  friend bool operator==(const StaticMemory&, const StaticMemory&) = default;
};

// Bytes of a weight as the matrix products read it.
int WeightBytes(const TrainingPlan& plan);
// Of the optimizer's state per parameter.
int OptimizerBytes(const TrainingPlan& plan);

// `held` are the parameters of the rank; `largest` those of its largest layer,
// which ZeRO-3 gathers, two at a time (one in use, one ahead).
StaticMemory StaticBytes(const TrainingPlan& plan, const Placement& placement,
                         const RankParameters& held,
                         const RankParameters& largest);

// What the framework's allocator holds when so much is allocated at the peak,
// `activations` of it activations; and the buffers of the collective library,
// which are beside it.
Bytes AllocatorBytes(const TrainingPlan& plan, Bytes allocated,
                     Bytes activations);
Bytes GroupBufferBytes(const TrainingPlan& plan, const Placement& placement);

// What the schedule adds to it for a unit of `parameters`: gradients summed on
// the rank, from the unit's first backward pass of a step to the end of their
// reduction, and gathered weights that are not dropped after the forward pass,
// from its first forward to its last backward pass. None where the plan does
// neither or nobody shares.
Bytes UnreducedBytes(const TrainingPlan& plan, const Placement& placement,
                     const RankParameters& parameters);
Bytes GatheredBytes(const TrainingPlan& plan, const Placement& placement,
                    const RankParameters& parameters);

}  // namespace orrery
