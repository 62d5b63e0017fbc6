#include "analytic/collective/collective_bounds.h"

#include <algorithm>
#include <bit>

namespace orrery {

double EndPointBytes(CommunicationKind kind, int p, bool in_network) {
  const double others = static_cast<double>(p - 1) / p;
  switch (kind) {
    case CommunicationKind::kAllReduce:
      return in_network ? 1 : 2 * others;
    case CommunicationKind::kReduceScatter:
    case CommunicationKind::kAllGather:
    case CommunicationKind::kAllToAll:
      return others;
    case CommunicationKind::kBroadcast:
    case CommunicationKind::kReduce:
    case CommunicationKind::kPointToPoint:
      return 1;
    case CommunicationKind::kBarrier:
      return 0;
  }
  return 0;
}

Seconds CollectiveLowerBound(CommunicationKind kind, int p, Bytes m,
                             const AlphaBeta& port, bool in_network) {
  return CollectiveLowerBound(kind, p, m, RankPorts{port, port.bandwidth},
                              in_network);
}

Seconds CollectiveLowerBound(CommunicationKind kind, int p, Bytes m,
                             const RankPorts& ports, bool in_network) {
  if (p < 2) return Seconds(0);
  const bool one_step = in_network || kind == CommunicationKind::kAllToAll ||
                        kind == CommunicationKind::kPointToPoint;
  const double steps =
      one_step ? 1 : std::bit_width(static_cast<unsigned>(p - 1));
  const double bytes = EndPointBytes(kind, p, in_network);
  // Of a broadcast all but one receive everything, of a reduction all but one
  // send it.
  const bool rooted = kind == CommunicationKind::kBroadcast ||
                      kind == CommunicationKind::kReduce ||
                      kind == CommunicationKind::kPointToPoint;
  const double in_the_mean = rooted ? bytes * (p - 1) / p : bytes;
  const AlphaBeta together = {Seconds(0), ports.mean};
  return std::max({steps * ports.narrowest.latency,
                   ports.narrowest.Wire(std::min(bytes, 1.0), m),
                   together.Wire(in_the_mean, m)});
}

Seconds IslandLowerBound(CommunicationKind kind, int islands, int per_island,
                         Bytes m, BytesPerSecond out, bool in_network) {
  if (islands < 2) return Seconds(0);
  // Each member of an all-to-all sends its blocks for other islands.
  const double share =
      kind == CommunicationKind::kAllToAll
          ? per_island * static_cast<double>(islands - 1) / islands
          : EndPointBytes(kind, islands, in_network);
  return AlphaBeta{Seconds(0), out}.Wire(share, m);
}

}  // namespace orrery
