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
  if (p < 2) return Seconds(0);
  const bool one_step = in_network || kind == CommunicationKind::kAllToAll ||
                        kind == CommunicationKind::kPointToPoint;
  const double steps =
      one_step ? 1 : std::bit_width(static_cast<unsigned>(p - 1));
  return std::max(steps * port.latency,
                  port.Wire(EndPointBytes(kind, p, in_network), m));
}

Seconds PortsLowerBound(CommunicationKind kind, Bytes m,
                        absl::Span<const BytesPerSecond> ports,
                        bool in_network) {
  const int p = static_cast<int>(ports.size());
  if (p < 2) return Seconds(0);
  const double mean = EndPointBytes(kind, p, in_network);
  const double own =
      kind == CommunicationKind::kAllReduce ? std::min(1.0, mean) : mean;
  // Of broadcast and reduce all but one receive, or send, everything.
  const bool rooted = kind == CommunicationKind::kBroadcast ||
                      kind == CommunicationKind::kReduce ||
                      kind == CommunicationKind::kPointToPoint;
  double sum = 0;
  double least = ports[0].value();
  for (const BytesPerSecond port : ports) {
    sum += port.value();
    least = std::min(least, port.value());
  }
  const auto bytes = static_cast<double>(m.value());
  return Seconds(bytes *
                 std::max(own / least, mean * (rooted ? p - 1 : p) / sum));
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
