#pragma once
// What collectives of tensor ranks hold beside the tensors of a step.
//
// A reduce-scatter reads a tensor of all tokens that nothing needs afterwards.
// PyTorch's allocator marks it as used by the stream of the collective and has
// it back when a later allocation finds that stream past it (record_stream,
// CUDACachingAllocator.cpp). So it depends on how far the host is ahead of the
// chip: a host that is not takes the same block again for every layer, one that
// is takes a new one for each until its queue of launches is full, and the
// allocator keeps them.
//
//   UnitCalls calls;
//   for (each unit of the rank) calls += CallsOf(ops, plan);
//   CollectiveBufferBytes(plan, pipeline_rank, calls);
//
// An allocation that fails waits for all of it and has it back, so that it
// might not count. It does: of the runs of the sweep that ran out of memory,
// 57 would have had enough without it.
//
// How far it is ahead where the peak is, at the end of a forward pass: since
// the step began without stages. With them a host that waits for what it
// receives is not ahead of its pass, but on the first rank, which receives
// nothing before its first backward pass. A host that compares calls with
// others before each collective is not ahead of a chip that works; of one that
// stands in a send it is. That is so on the first rank from the third pass of a
// run's first step on: the second stage is at its first pass, whose kernels are
// compiled and whose communicators are made, when the second micro-batch is
// sent to it. (Where it stands and for how long is inferred: of 113 runs of
// validation/training_hf_sweep.csv with four stages and more at tensor degrees
// from 8 on, what the first rank holds is that of all passes but two.)
#include <cstdint>

#include "base/units.h"
#include "workload/model/layer.h"
#include "workload/plan/training_plan.h"

namespace orrery {

// Launches of the passes of one micro-batch, and what is reduced and gathered
// in them.
struct UnitCalls {
  int64_t forward_launches = 0;
  int64_t backward_launches = 0;
  Bytes forward_scattered{};  // read by reduce-scatters of tensor ranks
  Bytes backward_scattered{};
  Bytes largest_gathered{};

  UnitCalls& operator+=(const UnitCalls& other);
  friend bool operator==(const UnitCalls&, const UnitCalls&) = default;
};
UnitCalls CallsOf(const LayerOps& ops, const TrainingPlan& plan);

// Of a pipeline rank that has such passes: buffers of gathers, which stay, and
// what reduce-scatters still use at the peak as far as the host sees.
Bytes CollectiveBufferBytes(const TrainingPlan& plan, int pipeline_rank,
                            const UnitCalls& calls);

}  // namespace orrery
