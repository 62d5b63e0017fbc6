#pragma once
// What a rank's waits were spent on, all the way down.
//
// A rank that waits for a partner waits for whatever held the partner back:
// work of that rank, or of another that it waited for in its turn. The chain of
// who made whom start is followed over ranks, so that every moment of a wait is
// charged to the task that was at work in it.
//
//   for (const WaitedWork& part :
//        FollowToWork(spans, path, breakdown.waits())) ...
#include <absl/types/span.h>

#include <vector>

#include "sim/analysis/critical_path.h"
#include "sim/analysis/span_index.h"
#include "sim/analysis/step_breakdown.h"
#include "traces/format/span.h"

namespace orrery {

// A part of a wait.
struct WaitedWork {
  const RankWait* wait = nullptr;
  Time from{};
  Time to{};
  // What was at work: the rank's own call where it is exposed, the task of
  // another rank where that was waited for. Null where no work explains it.
  const TaskSpan* work = nullptr;
  Duration time() const { return to - from; }
};

// The waits of one rank in parts, in the order of time; each as long as its
// parts. What comes after a rank's last task is charged to the critical path,
// which is what the step then waits for. Requires: `waits` outlives the result.
std::vector<WaitedWork> FollowToWork(const SpanIndex& spans,
                                     const std::vector<PathStep>& path,
                                     absl::Span<const RankWait> waits);

}  // namespace orrery
