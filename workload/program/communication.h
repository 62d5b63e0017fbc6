#pragma once
// What a program says about communication: the operation and its bytes, not the
// algorithm, the route or the time, which the network layer decides per call.
//
// A program's distinct calls are dense (`Program::calls()`), so that a table
// with one transfer plan per call is all the engine needs.
#include <compare>
#include <type_traits>

#include "base/simulation_ids.h"
#include "base/units.h"
#include "topology/traffic/call_shape.h"
#include "topology/traffic/communication_kind.h"

namespace orrery {

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
  CallShape shape = CallShape::kEven;
  friend auto operator<=>(const Communication&, const Communication&) = default;
};
static_assert(std::is_trivially_copyable_v<Communication>);

struct Call {
  GroupId group;
  Communication what;
  friend bool operator==(const Call&, const Call&) = default;
};

}  // namespace orrery
