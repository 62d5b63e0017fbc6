#pragma once
// CollectiveCall: what the network is asked for, by chips.
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "topology/graph/graph.h"
#include "topology/traffic/call_shape.h"
#include "topology/traffic/communication_kind.h"
#include "topology/traffic/expert_traffic.h"

namespace orrery {

// Groups that make the same call at about the same time, each once, in order.
// A planner keeps them (CallPlanner::PeersOf) and gives them a number.
struct CallPeers {
  int32_t number = 0;
  std::vector<std::vector<VertexId>> groups;
};

struct CollectiveCall {
  CommunicationKind kind = CommunicationKind::kAllReduce;
  Bytes bytes;
  // Of a point-to-point transfer the sender, then the receiver; of a broadcast
  // or reduce the root first.
  std::vector<VertexId> chips;
  // Other groups that do the same at the same time and that this call stands
  // for: their load is on the links too.
  std::vector<std::vector<VertexId>> replicas = {};
  CallShape shape = CallShape::kEven;
  // Where tokens move (MovesTokens): how much goes to each of `chips`. Must
  // outlive the call.
  const ExpertTraffic* traffic = nullptr;
  // Whose traffic an adaptive router weighs together, the call's own included;
  // null: its own alone.
  const CallPeers* peers = nullptr;
};

}  // namespace orrery
