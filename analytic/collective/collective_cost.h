#pragma once
// What collectives cost on paper: ranks with one full-duplex port each on a
// network that never blocks.
//
// Latency-bandwidth ("alpha-beta") forms, written from the literature and not
// from the step lists of the network model, so that the two can disagree:
// Thakur, Rabenseifner and Gropp, "Optimization of collective communication
// operations in MPICH" (2005); Chan, Heimlich, Purkayastha and van de Geijn,
// "Collective communication: theory, practice, and experience" (2007);
// Sanders, Speck and Traff, "Two-tree algorithms for full bandwidth broadcast,
// reduction and scan" (2009).
//
// p ranks, m bytes (all-reduce and reduce-scatter: the vector; all-gather: the
// gathered result; all-to-all: what one rank sends, own block included), a
// seconds per message, b seconds per byte.
#include <chrono>

#include "base/units.h"

namespace orrery {

// Real-valued seconds: closed forms are not rounded to picoseconds.
using Seconds = std::chrono::duration<double>;

// The cost of one message over one port.
struct AlphaBeta {
  Seconds latency{};
  BytesPerSecond bandwidth;

  // Time of `share` of `bytes` on the wire, without latency.
  Seconds Wire(double share, Bytes bytes) const {
    return Seconds(share * static_cast<double>(bytes.value()) /
                   bandwidth.value());
  }
};

// 2(p-1)a + 2(p-1)/p m b, and half of it.
Seconds RingAllReduceCost(int p, Bytes m, const AlphaBeta& port);
Seconds RingReduceScatterCost(int p, Bytes m, const AlphaBeta& port);
// ceil(log2 p) a + (p-1)/p m b: recursive doubling or halving, or Bruck.
Seconds LogAllGatherCost(int p, Bytes m, const AlphaBeta& port);
// log2 p (a + m b) for a power of two; other p fold in and out: + 2(a + m b).
Seconds RecursiveDoublingCost(int p, Bytes m, const AlphaBeta& port);
// 2 log2 p a + 2(p-1)/p m b (Rabenseifner), folding likewise.
Seconds HalvingDoublingCost(int p, Bytes m, const AlphaBeta& port);
// Two trees, k = `segments` pieces of c = m/(2k) each: 2 h a + 2 (2h-1) c b to
// fill a pipeline of height h, in which every level takes in two children but
// the root's only one, then 2 m b (k-1)/k.
Seconds DoubleBinaryTreeCost(int p, Bytes m, int segments,
                             const AlphaBeta& port);
// 2 depth a + m b: the switches add up (SHARP).
Seconds ReductionTreeCost(int depth, Bytes m, const AlphaBeta& port);
// 2a + (1 + 1/p) m b: owners pull sums from the switch and multicast (NVLS).
Seconds SwitchMulticastCost(int p, Bytes m, const AlphaBeta& port);

// a + (p-1)/p m b.
Seconds DirectAllToAllCost(int p, Bytes m, const AlphaBeta& port);
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

}  // namespace orrery
