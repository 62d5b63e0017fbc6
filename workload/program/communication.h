#pragma once
// What a program says about communication: the operation and its bytes, not the
// algorithm, the route or the time, which the network layer decides per call.
//
// A program's distinct calls are dense (`Program::calls()`), so that a table
// with one transfer plan per call is all the engine needs. `variant` tells
// apart calls that agree in kind and bytes but that the network should treat
// differently: it is the TokenRoute of an all-to-all among experts, and
// kAroundTheRing for a point-to-point call in which every member sends to the
// next one and the last to the first.
#include <compare>
#include <cstdint>

#include "base/simulation_ids.h"
#include "base/units.h"
#include "topology/traffic/communication_kind.h"

namespace orrery {

inline constexpr int32_t kAroundTheRing = 1;

// The part of a chip taken by something that runs on it, 1 being all of it.
struct ChipShare {
  double compute = 0;  // of the compute units
  double memory = 0;   // of the HBM bandwidth
  friend auto operator<=>(const ChipShare&, const ChipShare&) = default;
};

// One operation as each member sees it. `share` is what it takes from each
// member's chip while it runs.
struct Communication {
  CommunicationKind kind = CommunicationKind::kAllReduce;
  Bytes bytes = {};
  ChipShare share = {};
  int32_t variant = 0;
  friend auto operator<=>(const Communication&, const Communication&) = default;
};

struct Call {
  GroupId group;
  Communication what;
  friend bool operator==(const Call&, const Call&) = default;
};

}  // namespace orrery
