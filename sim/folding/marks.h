#pragma once
// Marks: which ranks the machine itself tells from others, because their chips
// are slow, or links of theirs are cut or slow.
//
// A step is folded around them: who is marked, and who communicates with them
// unlike others do, is simulated by itself, and one rank still stands for all
// of the rest (workload/plan/rank_classes.h). Whether that is enough is told
// from what links carry, as ever (folding.h). Two ways to mark are tried:
//   kChips  these chips, those that are alike by one mark
//   kNodes  where links are cut or slow, every chip of their nodes by a mark of
//           its own, since traffic that goes around a link meets their
//           neighbours; slow chips of other nodes as before
#include <vector>

#include "topology/machine/system.h"
#include "workload/plan/rank_classes.h"

namespace orrery {

enum class MarkedBy { kChips, kNodes };

// Nothing if chips are alike. Requires: rank r lies on chip r.
std::vector<RankMark> MarksOf(const System& system, MarkedBy how);

// Of every node, whether a link of one of its chips is cut or slow.
std::vector<char> NodesWithFaults(const System& system);

}  // namespace orrery
