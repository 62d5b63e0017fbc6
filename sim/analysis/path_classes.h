#pragma once
// PathClasses: ranks of a program that come to the same places at the same
// times if every task takes a time that is known.
//
// They play the same role at the same speed, and in each of its slots they meet
// a group whose calls take as long and whose members are of the same classes,
// each by the same slot. Then, by induction over tasks, whatever one of them
// has done at some time the others have, and one of each class is enough to
// tell when the program ends. The groups of those that are left are classes of
// groups: the n-th call of a class has for members all that are bound to one of
// its groups, each by its own.
//
// Cost: O(ranks * slots) for each round of refinement, of which there are few.
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "workload/program/program.h"

namespace orrery {

struct PathClasses {
  struct Member {
    int32_t rank;  // its place in `ranks`
    StreamId stream;
  };
  std::vector<RankId> ranks;  // the first of each class
  IdVector<GroupId, int32_t> class_of;
  std::vector<std::vector<Member>> members;  // by class of groups
};

PathClasses ClassesOf(const Program& program,
                      const IdVector<CallId, Duration>& calls);

// The same where calls take as long that move as many bytes in the same way, as
// they do if groups lie alike: how many ranks are left.
std::vector<RankId> RanksIfAlike(const Program& program);

}  // namespace orrery
