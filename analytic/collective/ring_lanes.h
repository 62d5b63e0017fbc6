#pragma once
// RingLanes: the rings and trees of a group that share the data of a call.
//
// There is one, or between islands of several members as many as the poorest of
// them has NICs, each of which crosses at gates of its own. Where every island
// holds the same number of members all of them are gates.
#include <vector>

#include "analytic/collective/group_network.h"

namespace orrery {

class RingLanes {
 public:
  // Requires: members in the order of their chips.
  explicit RingLanes(const GroupNetwork& group);

  int count() const { return count_; }
  // The i-th rank of a ring, around and around. Islands are walked forwards and
  // backwards in turn, so that a ring leaves one and enters the next at gates
  // of one lane.
  int at(int lane, int i) const;
  // Where a rank stands on a ring.
  int PlaceOf(int lane, int rank) const;

  // Trees join the gates of a lane: islands, their members, and the member that
  // is so many steps behind the gate of a lane. Steps lead around the island,
  // or where unequal islands are meshed forth and back.
  int islands() const { return static_cast<int>(islands_.size()); }
  int members(int island) const { return Of(island).members; }
  int Behind(int lane, int island, int steps) const;

 private:
  struct Island {
    int first = 0;
    int members = 0;
    // Of every lane, counted from the first.
    std::vector<int> gates = {};
  };
  const Island& Of(int island) const {
    return islands_[static_cast<size_t>(island)];
  }
  void OpenGates(const GroupNetwork& group);

  int ranks_;
  int count_ = 1;
  bool forth_and_back_ = false;
  std::vector<Island> islands_;
  std::vector<int> island_of_;  // of every rank
};

}  // namespace orrery
