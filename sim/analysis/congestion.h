#pragma once
// Which calls of the critical path others held up, where, and who.
//
// A call is congested by what it takes longer than with the network to itself.
// Its link is the fullest one on its way while it ran; the log of the run says
// who was on that link and how much of it each had.
#include <vector>

#include "sim/analysis/critical_path.h"
#include "sim/analysis/step_breakdown.h"
#include "sim/sharing/transfer_log.h"
#include "sim/sharing/transfer_plan.h"
#include "workload/program/program.h"

namespace orrery {

struct CongestedCall {
  TaskSpan span;
  Duration alone{};
  ResourceId link{};
  // Of the link's capacity while the call ran: in all, and of other groups, the
  // largest first. Where one call stands for others like it (folding), theirs
  // is counted as its own.
  double load = 0;
  struct Other {
    GroupId group{};
    double load = 0;
  };
  std::vector<Other> others = {};
  Duration lost() const { return span.running() - alone; }
};

// The calls on the path that others held up, the largest loss first; of very
// many those that lost most (kMostCongestedCalls).
// Requires: `log` is of the run of these transfers that the path is of.
// Cost: one pass over the log, and a search among the calls for each entry.
inline constexpr size_t kMostCongestedCalls = 512;
std::vector<CongestedCall> CongestedCalls(const Program& program,
                                          const Transfers& transfers,
                                          const TransferLog& log,
                                          const std::vector<PathStep>& path,
                                          const CallTimes& alone);

}  // namespace orrery
