#pragma once
// PlacedGroup: a group of a program as it is on the machine, by chips.
//
// A program knows its groups by the ranks it simulates; whoever plans transfers
// has to know all chips that take part, and the groups that a folded one stands
// for. There is one for every group of a program, by the group's id.
#include <vector>

#include "base/ids.h"
#include "base/simulation_ids.h"

namespace orrery {

struct PlacedGroup {
  // Chips in the order of the group; a channel's sender, then its receiver.
  std::vector<int> members;
  // All groups that run the same calls at the same time because the program
  // simulates one of them for all; the group itself first. Only itself where
  // nothing is folded.
  std::vector<std::vector<int>> replicas;
};

// Of every group the first with the same members, which stands for the same
// others: a channel of every virtual stage is a group, and all of them join the
// same two.
IdVector<GroupId, GroupId> FirstAlike(
    const IdVector<GroupId, PlacedGroup>& groups);

}  // namespace orrery
