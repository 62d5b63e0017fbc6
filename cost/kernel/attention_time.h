#pragma once
// Time of fused (flash) attention.
//
// Two ways to spread the work over the units, of which the better is taken:
// - tiles of queries (prefill, training): each works through the keys it sees,
//   in whole blocks, so a causal mask saves less than half; tiles of a causal
//   head differ in length, and the last of them end apart;
// - split keys (decode): the queries of a key-value head form one tile, its
//   keys are spread over all units and the parts are merged at the end.
//
// Inside a tile the matrix products, the exponentials and the rest of the
// softmax compete; an implementation hides a share of the latter behind the
// former. Its products attain a share of the peak at the clock that the power
// limit leaves a kernel which keeps the matrix units busy only part of the time
// (power_limit.h). Memory overlaps as in a matrix product.
//
// Backward has five products instead of two, shares of its own for them and for
// the softmax and its gradient, and two passes over memory besides (row sums of
// output and its gradient before; the FP32 query gradient after).
//
// The additive form (arXiv 2507.02456): load + products + pointwise + store,
// with no overlap between them.
#include "cost/kernel/kernel_chip.h"
#include "workload/model/op.h"

namespace orrery {

KernelEstimate TimeAttention(const FusedAttention& attention,
                             const KernelChip& chip);

// Score elements of one head that are computed in whole blocks, and of the
// query tile that has most of them.
struct ScoreBlocks {
  double total;
  double longest;
};
// Cost: O(1) for tiles whose rows are a multiple of their columns.
ScoreBlocks CountScoreBlocks(const FusedAttention& attention, int64_t rows,
                             int64_t columns);

}  // namespace orrery
