#pragma once
// Published costs of collectives that have no form in analytic/collective,
// because nothing that is priced by them is ever the cheapest or ever asked
// for.
//
// p ranks, m bytes, a seconds per message, b seconds per byte. Sources: Thakur,
// Rabenseifner and Gropp, "Optimization of collective communication operations
// in MPICH" (2005); Chan, Heimlich, Purkayastha and van de Geijn, "Collective
// communication: theory, practice, and experience" (2007); Jain and Sabharwal,
// "Optimal bucket algorithms for large MPI collectives on torus interconnects"
// (2010); NVIDIA nccl-tests, PERFORMANCE.md and issue 130 (PXN); DeepSeek-AI,
// DeepEP (node-limited dispatch).
#include <absl/types/span.h>

#include "analytic/collective/alpha_beta.h"

namespace orrery {

// (p-1)(a + (m/p) b).
Seconds PairwiseAllToAllCost(int p, Bytes m, const AlphaBeta& port);
// sum over steps d = 1, 2, 4 ... of a + n_d (m/p) b, n_d the numbers below p
// with bit d set; log2 p (a + m/2 b) for a power of two.
Seconds BruckAllToAllCost(int p, Bytes m, const AlphaBeta& port);

// ceil(log2 p)(a + m b).
Seconds BinomialBroadcastCost(int p, Bytes m, const AlphaBeta& port);
// (ceil(log2 p) + p - 1) a + 2 (p-1)/p m b (van de Geijn).
Seconds ScatterAllGatherBroadcastCost(int p, Bytes m, const AlphaBeta& port);
// (p - 2 + k)(a + m b/k).
Seconds ChainBroadcastCost(int p, Bytes m, int segments, const AlphaBeta& port);
// The same at the best real-valued k: (sqrt((p-2)a) + sqrt(m b))^2.
Seconds BestChainBroadcastCost(int p, Bytes m, const AlphaBeta& port);

// h hops of store and forward in chunks of c: h a + (m + (h-1)c) b; with c = 0
// cut-through, h a + m b.
Seconds PointToPointCost(int hops, Bytes m, Bytes chunk, const AlphaBeta& link);

// What any all-reduce on a torus of D sides needs to inject:
// 2(p-1)/p m b/(2D).
Seconds TorusAllReduceBound(absl::Span<const int> shape, Bytes m,
                            const AlphaBeta& link);
// Minimal routes, ties split: m k_max/8 b for even sides (bandwidth term).
Seconds TorusAllToAllWire(absl::Span<const int> shape, Bytes m,
                          const AlphaBeta& link);

// All-to-all through the destination's rail, G ranks on each of N islands: the
// longer of m (N-1)/N on the NIC and m [(N-1)/N (G-1)/G + (G-1)/(G N)] in the
// island.
Seconds PxnAllToAllWire(int per_island, int islands, Bytes m,
                        const AlphaBeta& island, const AlphaBeta& network);
// Tokens of a mixture of experts: each crosses `remote` times on the NIC and
// fans out `copies` times in the island, stages overlapped.
Seconds MoeDispatchWire(int tokens, Bytes token, double remote, double copies,
                        BytesPerSecond nic, BytesPerSecond island);

}  // namespace orrery
