#include "tests/oracles/collective_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace orrery {
namespace {

int CeilLog2(int p) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(p - 1)));
}

// (p-1)/p.
double OtherRanks(int p) { return static_cast<double>(p - 1) / p; }

}  // namespace

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
  return (CeilLog2(p) + p - 1.0) * port.latency +
         port.Wire(2 * OtherRanks(p), m);
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

Seconds TorusAllReduceBound(absl::Span<const int> shape, Bytes m,
                            const AlphaBeta& link) {
  int p = 1;
  for (const int side : shape) p *= side;
  return link.Wire(OtherRanks(p) / static_cast<double>(shape.size()), m);
}

Seconds TorusAllToAllWire(absl::Span<const int> shape, Bytes m,
                          const AlphaBeta& link) {
  return link.Wire(*std::max_element(shape.begin(), shape.end()) / 8.0, m);
}

Seconds PxnAllToAllWire(int per_island, int islands, Bytes m,
                        const AlphaBeta& island, const AlphaBeta& network) {
  const double away = OtherRanks(islands);
  const double inside = (away + 1.0 / islands) * OtherRanks(per_island);
  return std::max(network.Wire(away, m), island.Wire(inside, m));
}

Seconds MoeDispatchWire(int tokens, Bytes token, double remote, double copies,
                        BytesPerSecond nic, BytesPerSecond island) {
  const double bytes = static_cast<double>(token.value()) * tokens;
  return Seconds(
      std::max(bytes * remote / nic.value(), bytes * copies / island.value()));
}

}  // namespace orrery
