#pragma once
// Time of a matrix product.
//
// The output is cut into tiles, and the reduction perhaps into parts. A compute
// unit works through ceil(tiles / units) of them, each a main loop and a fixed
// overhead; whole tiles are counted, not resident waves, because tiles that
// share a unit share its rate. The main loop goes at the matrix rate, or at the
// pace of its latency when too few tiles are on a unit to hide it; the chip as
// a whole cannot outrun its last cache. Memory time overlaps with all that, not
// perfectly. Parts of a split reduction are added through the cache.
//
//   seconds = launch + overlapped(max(matrix, latency, cache), memory) + merge
//
// Batches of products whose rows are not aligned (`batch_alignment`) run on the
// vector units, whose threads widen what they load.
//
// The library is taken to choose the best of the chip's tiles and of the splits
// its format allows. Each choice grows with m, n, k and batch, and so does
// their minimum.
#include "cost/kernel/kernel_chip.h"
#include "workload/model/op.h"

namespace orrery {

// With one tile and split.
KernelEstimate TimeGemm(const Gemm& gemm, const KernelChip& chip,
                        const MatrixTile& tile, int split);

// With the best of them. Cost: O(tiles * splits), no allocation.
struct GemmChoice {
  KernelEstimate estimate;
  MatrixTile tile;
  int split;
};
GemmChoice TimeGemm(const Gemm& gemm, const KernelChip& chip);

}  // namespace orrery
