#pragma once
// Time of a pointwise or reduction kernel.
//
//   seconds = launches + max(bytes / memory rate, operations / vector rate)
//
// A row that is longer than a block can hold is read a second time (a softmax
// needs the maximum before the sum, a norm the moments before the values). A
// cast with a dynamic scale reads the tensor for its largest value first.
#include "cost/kernel/kernel_chip.h"
#include "workload/model/op.h"

namespace orrery {

KernelEstimate TimePointwise(const Pointwise& pointwise,
                             const KernelChip& chip);

}  // namespace orrery
