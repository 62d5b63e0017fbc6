#pragma once
// Lower bounds of collectives: no algorithm is faster.
//
// A chip may send on all its links at once, so that latency forces no more than
// one message; and there are the bytes that every rank, all ranks together, and
// every island must send or receive (Chan et al., 2007). A simulated time below
// a bound is an error of ours.
#include <absl/types/span.h>

#include "analytic/collective/alpha_beta.h"
#include "topology/graph/graph.h"
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

// The wider direction of every chip. Requires: at least one chip.
RankPorts PortsOfRanks(const Graph& graph, absl::Span<const VertexId> chips);

// The larger of nothing-but-latency and nothing-but-bytes. The 2 (p-1)/p of an
// all-reduce are a mean over ranks, and hold of all ports together: a rank on
// slow links gets by with sending its part and receiving the result, m each
// way.
Seconds CollectiveLowerBound(CommunicationKind kind, int p, Bytes m,
                             const RankPorts& ports, bool in_network);
// All ports alike.
Seconds CollectiveLowerBound(CommunicationKind kind, int p, Bytes m,
                             const AlphaBeta& port, bool in_network);

// What can be sent out of an island that holds members, the best of the
// islands: by the members, and by all of its chips where these forward.
struct IslandEdge {
  int islands = 1;
  int per_island = 1;
  BytesPerSecond out;
};
// One island where there are none, or they hold unequal parts of the group.
IslandEdge EdgeOfIslands(const Graph& graph, absl::Span<const VertexId> chips);

// The same for islands: what the members on one of them must together send or
// receive across its edge (Chan et al., with islands for ranks). Nothing on one
// island.
Seconds IslandLowerBound(CommunicationKind kind, const IslandEdge& edge,
                         Bytes m, bool in_network);

// The larger bound of a group of chips.
Seconds CollectiveLowerBound(CommunicationKind kind, Bytes m,
                             const Graph& graph,
                             absl::Span<const VertexId> chips, bool in_network);

}  // namespace orrery
