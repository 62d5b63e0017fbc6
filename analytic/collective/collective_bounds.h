#pragma once
// Lower bounds of collectives: no algorithm is faster.
//
// One port per rank: ceil(log2 p) messages in a row to reach everybody, and the
// bytes every rank must send or receive (Chan et al., 2007). A simulated time
// below a bound is an error of ours.
#include <absl/types/span.h>

#include "analytic/collective/alpha_beta.h"
#include "topology/traffic/communication_kind.h"

namespace orrery {

// The least bytes a rank must send or receive, as a share of the call's bytes;
// `in_network`: the switches reduce and multicast.
double EndPointBytes(CommunicationKind kind, int p, bool in_network);

// The larger of nothing-but-latency and nothing-but-bytes, `port` being what
// all links of one rank carry together and its latency the least of a message.
Seconds CollectiveLowerBound(CommunicationKind kind, int p, Bytes m,
                             const AlphaBeta& port, bool in_network);

// What bytes alone cost where ranks differ: `ports` is what all links of each
// rank carry together. A slow rank must send and receive its own part, but may
// leave the adding up to others: of an all-reduce it is m each way, and
// 2(p-1)/p m in the mean over the ranks.
Seconds PortsLowerBound(CommunicationKind kind, Bytes m,
                        absl::Span<const BytesPerSecond> ports,
                        bool in_network);

// The same for islands: what the members on one of them must together send or
// receive across its edge, where they have `out` between them (Chan et al.,
// with islands for ranks). Nothing on one island.
Seconds IslandLowerBound(CommunicationKind kind, int islands, int per_island,
                         Bytes m, BytesPerSecond out, bool in_network);

}  // namespace orrery
