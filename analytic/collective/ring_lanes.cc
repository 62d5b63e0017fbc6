#include "analytic/collective/ring_lanes.h"

#include <algorithm>
#include <map>
#include <utility>

namespace orrery {

RingLanes::RingLanes(const GroupNetwork& group) : ranks_(group.ranks()) {
  const MachinePorts& ports = group.ports();
  const bool joined = group.crosses() && group.most_on_island() > 1;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == 0 || !joined ||
        ports.IslandOf(group.chip(rank)) !=
            ports.IslandOf(group.chip(rank - 1))) {
      islands_.push_back({.first = rank});
    }
    ++islands_.back().members;
    island_of_.push_back(islands() - 1);
  }
  if (joined && !group.hierarchical()) {
    OpenGates(group);
    forth_and_back_ = group.meshed();
    return;
  }
  count_ = islands_[0].members;
  for (Island& island : islands_) {
    for (int place = 0; place < count_; ++place) island.gates.push_back(place);
  }
}

void RingLanes::OpenGates(const GroupNetwork& group) {
  const MachinePorts& ports = group.ports();
  std::vector<std::map<int, int>> by_rail;  // the first member on each
  std::map<int, int> uses;                  // islands that have a rail
  count_ = ranks_;
  for (const Island& island : islands_) {
    std::map<int, int>& places = by_rail.emplace_back();
    for (int place = 0; place < island.members; ++place) {
      const int rail =
          ports.NicOf(group.chip(island.first + place)) % ports.nics;
      if (places.emplace(rail, place).second) ++uses[rail];
    }
    count_ = std::min(count_, static_cast<int>(places.size()));
  }
  for (size_t i = 0; i < islands_.size(); ++i) {
    std::vector<int>& gates = islands_[i].gates;
    // Rails that all islands have come first, those of this one fill up.
    for (const bool common : {true, false}) {
      for (const auto& [rail, place] : by_rail[i]) {
        if ((uses[rail] == islands()) == common &&
            static_cast<int>(gates.size()) < count_) {
          gates.push_back(place);
        }
      }
    }
  }
}

int RingLanes::Behind(int lane, int island, int steps) const {
  const Island& of = Of(island);
  int away = steps;
  if (forth_and_back_) {
    away = steps % 2 == 0 ? of.members - steps / 2 : steps / 2 + 1;
  }
  return of.first + (of.gates[static_cast<size_t>(lane)] + away) % of.members;
}

int RingLanes::at(int lane, int i) const {
  const int place = i % ranks_;
  const int number = island_of_[static_cast<size_t>(place)];
  const Island& island = Of(number);
  const int from_start = place - island.first;
  const int step =
      number % 2 == 0 ? from_start : island.members - 1 - from_start;
  // From the gate of the lane on, but the gate of another lane comes last.
  const int other =
      (lane + (forth_and_back_ ? count_ / 2 : count_ - 1)) % count_;
  if (other == lane) return Behind(lane, number, step);
  const int last = Behind(other, number, 0);
  if (step == island.members - 1) return last;
  // Where it would have come else.
  const int away =
      (last - Behind(lane, number, 0) + island.members) % island.members;
  int skipped = away;
  if (forth_and_back_) {
    const int back = island.members - away;
    skipped = away <= back ? 2 * away - 1 : 2 * back;
  }
  return Behind(lane, number, step < skipped ? step : step + 1);
}

int RingLanes::PlaceOf(int lane, int rank) const {
  int place = Of(island_of_[static_cast<size_t>(rank)]).first;
  while (at(lane, place) != rank) ++place;
  return place;
}

}  // namespace orrery
