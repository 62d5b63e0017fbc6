#pragma once
// Lower bounds of collectives: no algorithm is faster.
//
// One port per rank: ceil(log2 p) messages in a row to reach everybody, and the
// bytes every rank must send or receive (Chan et al., 2007). A simulated time
// below a bound is an error of ours.
#include "analytic/collective/alpha_beta.h"
#include "topology/traffic/communication_kind.h"

namespace orrery {

// The least bytes a rank must send or receive, as a share of the call's bytes;
// `in_network`: the switches reduce and multicast.
double EndPointBytes(CommunicationKind kind, int p, bool in_network);

// What the links of ranks carry together, each way: of the rank that has least,
// with the least latency of a message, and of all ranks in the mean.
struct RankPorts {
  AlphaBeta narrowest;
  BytesPerSecond mean;
};

// The larger of nothing-but-latency and nothing-but-bytes. The 2 (p-1)/p of an
// all-reduce are a mean over ranks, and hold of all ports together: a rank on
// slow links gets by with sending its part and receiving the result, m each
// way.
Seconds CollectiveLowerBound(CommunicationKind kind, int p, Bytes m,
                             const RankPorts& ports, bool in_network);
// All ports alike.
Seconds CollectiveLowerBound(CommunicationKind kind, int p, Bytes m,
                             const AlphaBeta& port, bool in_network);

// The same for islands: what the members on one of them must together send or
// receive across its edge, where they have `out` between them (Chan et al.,
// with islands for ranks). Nothing on one island.
Seconds IslandLowerBound(CommunicationKind kind, int islands, int per_island,
                         Bytes m, BytesPerSecond out, bool in_network);

}  // namespace orrery
