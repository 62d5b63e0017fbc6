#pragma once
// What collectives cost on islands of chips joined by a slower network, on
// paper.
//
// G chips per island, N islands, one NIC per chip. Sources: Cho et al.,
// "BlueConnect" (MLSys 2019); NVIDIA nccl-tests, PERFORMANCE.md and issue 130
// (PXN); DeepSeek-AI, DeepEP (node-limited dispatch).
#include <absl/types/span.h>

#include "analytic/collective/collective_cost.h"

namespace orrery {

// One level of a hierarchy: its size and its port.
struct Level {
  int size;
  AlphaBeta port;
};

// sum_i 2[(p_i - 1) a_i + (p_i - 1)/p_i m/prod_{j<i} p_j b_i], inner first.
Seconds BlueConnectCost(absl::Span<const Level> levels, Bytes m);
// The bandwidth terms alone, overlapped by pipelining: the largest of them.
Seconds PipelinedBlueConnectWire(absl::Span<const Level> levels, Bytes m);

// All-reduce by reduce-scatter inside, switches that add up along the rails
// (`depth` of them above each other), all-gather inside: 2[(G-1) a + (G-1)/G m
// b] in the island, 2 depth a + m/G b on the network.
Seconds RailReductionTreeCost(const Level& island, const AlphaBeta& network,
                              int depth, Bytes m);

// All-to-all through the destination's rail: the longer of
// m (N-1)/N on the NIC and m [(N-1)/N (G-1)/G + (G-1)/(G N)] in the island.
Seconds PxnAllToAllWire(const Level& island, const Level& network, Bytes m);

// Islands (or ranks) that k experts of E, drawn uniformly without repetition
// and spread over n places, are expected to touch:
// n (1 - C(E - E/n, k)/C(E, k)).
double ExpectedPlaces(int experts, int chosen, int places);

// Tokens of a mixture of experts: each crosses `remote` times on the NIC and
// fans out `copies` times in the island, stages overlapped.
Seconds MoeDispatchWire(int tokens, Bytes token, double remote, double copies,
                        BytesPerSecond nic, BytesPerSecond island);

}  // namespace orrery
