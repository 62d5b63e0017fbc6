#include "analytic/collective/collective_cost.h"

#include <bit>
#include <cmath>

namespace orrery {
namespace {

int CeilLog2(int p) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(p - 1)));
}
int FloorLog2(int p) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(p))) - 1;
}

// (p-1)/p.
double Others(int p) { return static_cast<double>(p - 1) / p; }

// What folding extra ranks in before and out after a power-of-two core adds.
Seconds FoldCost(int p, Bytes m, const AlphaBeta& port) {
  if (std::has_single_bit(static_cast<unsigned>(p))) return Seconds(0);
  return 2.0 * (port.latency + port.Wire(1, m));
}

}  // namespace

Seconds RingAllReduceCost(int p, Bytes m, const AlphaBeta& port) {
  return 2.0 * RingReduceScatterCost(p, m, port);
}

Seconds RingReduceScatterCost(int p, Bytes m, const AlphaBeta& port) {
  return (p - 1.0) * port.latency + port.Wire(Others(p), m);
}

Seconds LogAllGatherCost(int p, Bytes m, const AlphaBeta& port) {
  return CeilLog2(p) * 1.0 * port.latency + port.Wire(Others(p), m);
}

Seconds RecursiveDoublingCost(int p, Bytes m, const AlphaBeta& port) {
  const double steps = FloorLog2(p);
  return steps * (port.latency + port.Wire(1, m)) + FoldCost(p, m, port);
}

Seconds HalvingDoublingCost(int p, Bytes m, const AlphaBeta& port) {
  const int core = 1 << FloorLog2(p);
  return 2.0 * FloorLog2(p) * port.latency + port.Wire(2 * Others(core), m) +
         FoldCost(p, m, port);
}

Seconds DoubleBinaryTreeCost(int p, Bytes m, int segments,
                             const AlphaBeta& port) {
  // The tree over ranks by trailing zero bits is as high as the longest chain
  // of ever higher powers of two below p, one more to the root.
  const double height = CeilLog2(p);
  const double piece = 0.5 / segments;
  const Seconds fill =
      2 * height * port.latency + port.Wire(2 * (2 * height - 1) * piece, m);
  return fill + port.Wire(2.0 * (segments - 1) / segments, m);
}

Seconds ReductionTreeCost(int depth, Bytes m, const AlphaBeta& port) {
  return 2.0 * depth * port.latency + port.Wire(1, m);
}

Seconds SwitchMulticastCost(int p, Bytes m, const AlphaBeta& port) {
  return 2.0 * port.latency + port.Wire(1 + 1.0 / p, m);
}

Seconds DirectAllToAllCost(int p, Bytes m, const AlphaBeta& port) {
  return port.latency + port.Wire(Others(p), m);
}

Seconds PairwiseAllToAllCost(int p, Bytes m, const AlphaBeta& port) {
  return (p - 1.0) * (port.latency + port.Wire(1.0 / p, m));
}

Seconds BruckAllToAllCost(int p, Bytes m, const AlphaBeta& port) {
  Seconds sum{};
  for (int d = 1; d < p; d *= 2) {
    // Whole periods of 2d hold d numbers with the bit; the rest what exceeds d.
    const int rest = p % (2 * d);
    const int blocks = p / (2 * d) * d + (rest > d ? rest - d : 0);
    sum += port.latency + port.Wire(static_cast<double>(blocks) / p, m);
  }
  return sum;
}

Seconds BinomialBroadcastCost(int p, Bytes m, const AlphaBeta& port) {
  return CeilLog2(p) * 1.0 * (port.latency + port.Wire(1, m));
}

Seconds ScatterAllGatherBroadcastCost(int p, Bytes m, const AlphaBeta& port) {
  return (CeilLog2(p) + p - 1.0) * port.latency + port.Wire(2 * Others(p), m);
}

Seconds ChainBroadcastCost(int p, Bytes m, int segments,
                           const AlphaBeta& port) {
  return (p - 2.0 + segments) * (port.latency + port.Wire(1.0 / segments, m));
}

Seconds BestChainBroadcastCost(int p, Bytes m, const AlphaBeta& port) {
  const double latency = std::sqrt((p - 2) * port.latency.count());
  const double wire = std::sqrt(port.Wire(1, m).count());
  return Seconds((latency + wire) * (latency + wire));
}

Seconds PointToPointCost(int hops, Bytes m, Bytes chunk,
                         const AlphaBeta& link) {
  return hops * 1.0 * link.latency + link.Wire(1, m) +
         link.Wire(hops - 1, chunk);
}

}  // namespace orrery
