#pragma once
// What collectives cost on networks without a central switch, on paper.
//
// B per link and direction; a per step. Sources: Jain and Sabharwal, "Optimal
// bucket algorithms for large MPI collectives on torus interconnects" (2010);
// De Sensi et al., "Swing" (NSDI 2024); Ahn et al., "HyperX" (SC 2009); Kim et
// al., "Technology-driven, highly-scalable dragonfly topology" (ISCA 2008).
#include <absl/types/span.h>

#include "analytic/collective/collective_cost.h"

namespace orrery {

// Ring of k, half of the data each way: 2(k-1)a + (k-1)/k m b.
Seconds BidirectionalRingAllReduceCost(int k, Bytes m, const AlphaBeta& link);
// Shards both ways: ceil((k-1)/2) a + (k-1)/(2k) m b; an even k splits the last
// shard and takes k/2 steps.
Seconds BidirectionalRingAllGatherCost(int k, Bytes m, const AlphaBeta& link);
// Both directions of a line of k: (k-1) a + (k-1)/k m b.
Seconds LineAllGatherCost(int k, Bytes m, const AlphaBeta& link);
// Fully connected: 2(a + (m/p) b).
Seconds FullMeshAllReduceCost(int p, Bytes m, const AlphaBeta& link);

// Torus: 2D rings at once, each starting with its own dimension, in lockstep:
// 2 S a + F m b/D with S the sum over stages of the longest side less one and F
// the sum of the largest share moved.
Seconds TorusBucketAllReduceCost(absl::Span<const int> shape, Bytes m,
                                 const AlphaBeta& link);
// What any all-reduce on a torus needs to inject: 2(p-1)/p m b/(2D).
Seconds TorusAllReduceBound(absl::Span<const int> shape, Bytes m,
                            const AlphaBeta& link);
// Minimal routes, ties split: m k_max/8 b for even sides (bandwidth term).
Seconds TorusAllToAllCost(absl::Span<const int> shape, Bytes m,
                          const AlphaBeta& link);
// Lines and meshes: m k_max/4 b for even sides.
Seconds MeshAllToAllCost(absl::Span<const int> shape, Bytes m,
                         const AlphaBeta& link);
// Swing: 2 log2 p a + congestion m b/D.
Seconds SwingAllReduceCost(absl::Span<const int> shape, double congestion,
                           Bytes m, const AlphaBeta& link);
// Dimension-ordered HyperX: max_i T m/(S_i K_i) b.
Seconds HyperXAllToAllCost(absl::Span<const int> shape,
                           absl::Span<const int> links, int hosts, Bytes m,
                           const AlphaBeta& link);
// Dragonfly, balanced by adaptive routing: about (p/h) m b.
Seconds DragonflyAllToAllCost(int hosts_per_router, int globals_per_router,
                              Bytes m, const AlphaBeta& link);
// Fat tree tapered o:1, a share f of the traffic leaving the leaf: f o m b.
Seconds FatTreeAllToAllCost(double taper, double leaving, Bytes m,
                            const AlphaBeta& link);

}  // namespace orrery
