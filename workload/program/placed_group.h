#pragma once
// PlacedGroup: a group of a program as it is on the machine, by chips.
//
// A program knows its groups by the ranks it simulates; whoever plans transfers
// has to know all chips that take part, and the groups that a folded one stands
// for. There is one for every group of a program, by the group's id.
#include <vector>

namespace orrery {

struct PlacedGroup {
  // Chips in the order of the group; a channel's sender, then its receiver.
  std::vector<int> members;
  // All groups that run the same calls at the same time because the program
  // simulates one of them for all; the group itself first. Only itself where
  // nothing is folded.
  std::vector<std::vector<int>> replicas;
};

}  // namespace orrery
