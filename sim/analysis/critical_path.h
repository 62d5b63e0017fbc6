#pragma once
// The critical path of a run: the chain of tasks, without a gap, from the
// beginning to the end, in which each made the next one start.
//
// Found backwards from the task that ended last: before a task started it
// waited for one thing last (the task before it in its stream, a dependency,
// the rank that came last to its call), and that is where the path comes from.
// Nothing on the path is waiting, so whatever shortens a step shortens the run,
// until another path becomes the longest.
//
//   const std::vector<PathStep> path = CriticalPath(SpanIndex(program, spans));
//   PathLength(path) == result.end - Time{}
#include <vector>

#include "base/units.h"
#include "sim/analysis/span_index.h"
#include "traces/format/span.h"

namespace orrery {

// One task that runs from `span.started` to `span.ended`.
struct PathStep {
  TaskSpan span;
  Duration time() const { return span.running(); }
};

// In the order of time. Of several paths the one that ends on the lowest rank,
// stream and task. Empty if nothing ran. Of a part of a run that was recorded,
// the path to the last of the tasks that start before `until`, as far back as
// it is known.
std::vector<PathStep> CriticalPath(const SpanIndex& spans,
                                   Time until = Time::max());

Duration PathLength(const std::vector<PathStep>& path);

}  // namespace orrery
