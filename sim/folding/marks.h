#pragma once
// Marks: which ranks the machine itself tells from others, because links of
// their chips are cut or slow.
//
// A step is folded around them: who is marked, and who communicates with them
// unlike others do, is simulated by itself, and one rank still stands for all
// of the rest (workload/plan/rank_classes.h). Whether that is enough is told
// from what links carry, as ever (folding.h). Two ways to mark are tried:
//   kChips  chips that have such a link, those that are alike by one mark
//   kNodes  every chip of their nodes by a mark of its own, since traffic that
//           goes around a link meets their neighbours
#include <vector>

#include "topology/machine/system.h"
#include "workload/plan/rank_classes.h"

namespace orrery {

enum class MarkedBy { kChips, kNodes };

// Nothing if all links are whole. Requires: rank r lies on chip r.
std::vector<RankMark> MarksOf(const System& system, MarkedBy how);

// Of every node, whether a link of one of its chips is cut or slow.
std::vector<char> NodesWithFaults(const System& system);

}  // namespace orrery
