#pragma once
// Time of a grouped matrix product: the experts of a mixture in one kernel.
//
// It is not the time of one product with all the rows: every active group's
// weights are read, and each group fills up its own last tile. Rows of a group
// are expectations, so a group has half a tile more than its rows fill, on the
// mean; and at least one. Uneven groups are all there: one kernel works through
// the tiles of all of them.
#include <absl/types/span.h>

#include "cost/kernel/kernel_chip.h"
#include "workload/model/op.h"

namespace orrery {

// Cost: O(tiles), no allocation.
KernelEstimate TimeGroupedGemm(const GroupedGemm& gemm, const KernelChip& chip);

// The same for rows that are known, group by group; those without any have no
// part in it. Groups, rows and active of `shape` are ignored.
KernelEstimate TimeGroupedGemm(const GroupedGemm& shape,
                               absl::Span<const int64_t> rows,
                               const KernelChip& chip);

}  // namespace orrery
