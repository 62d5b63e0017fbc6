#pragma once
// Lengthen: a long program from two short ones.
//
//   // The same step with 20, 21 and 1 000 micro-batches.
//   std::optional<Program> program = Lengthen(with_20, with_21, 980);
//
// If `longer` is `shorter` with something inserted in every stream, then a
// program with that inserted `times` times is a loop (role_loop.h), and takes
// no more memory than the short one. That it is so is found by comparing the
// two task by task, with all that a task has: what it does, waits for, holds
// and is called. What every stream of every role has more must follow upon its
// like: tasks that differ only in that what they wait for is just as much
// later. Tasks before it are the same in both; those after it wait for the same
// as before, or for what is later by what was inserted there.
//
// The comparison proves the first insertion; that further ones are like it is
// for the caller to know: whoever wrote the two writes the long one by the same
// rule.
//
// Nothing is returned if the two are not related like this. Marks are those of
// the shorter one.
//
// Cost: O(tasks + dependencies) of the two.
#include <optional>

#include "workload/program/program.h"

namespace orrery {

// Requires: neither has a loop; times >= 1.
std::optional<Program> Lengthen(const Program& shorter, const Program& longer,
                                int32_t times);

// The same role with fewer turns of its loop. Requires: at least one and, of a
// role with a loop, no more than it has.
Role WithTurns(const Role& role, int32_t turns);

}  // namespace orrery
