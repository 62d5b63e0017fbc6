#pragma once
// RingLanes: the rings of a group: one, or on islands of several members one
// per place, each of which crosses on rails of its own.
#include "analytic/collective/group_network.h"

namespace orrery {

class RingLanes {
 public:
  explicit RingLanes(const GroupNetwork& group)
      : ranks_(group.ranks()),
        size_(group.hierarchical() ? group.per_island() : 1) {}

  int count() const { return size_; }
  // The i-th rank of a ring, around and around. Islands are walked forwards and
  // backwards in turn, so that a ring leaves one and enters the next at the
  // same place.
  int at(int lane, int i) const {
    const int island = i / size_ % (ranks_ / size_);
    const int step = i % size_;
    return island * size_ +
           (lane + (island % 2 == 0 ? step : size_ - 1 - step)) % size_;
  }
  // Where a rank stands on a ring.
  int PlaceOf(int lane, int rank) const {
    int place = rank / size_ * size_;
    while (at(lane, place) != rank) ++place;
    return place;
  }

 private:
  int ranks_;
  int size_;
};

}  // namespace orrery
