#pragma once
// What a wait was spent on.
//
// The task that ended a wait has often waited itself: a kernel waits for an
// exchange that waits for another stage. The chain of who made whom start is
// followed back over the whole wait, and what took most of it is the cause.
#include <string>

#include "sim/analysis/span_index.h"
#include "traces/format/span.h"
#include "workload/program/program.h"

namespace orrery {

// Of the wait of `span` for its dependencies: the name of a stream of its own
// rank, or "rank 16" where other ranks were at work meanwhile. Requires: it
// waited.
std::string WaitCause(const Program& program, const SpanIndex& spans,
                      const TaskSpan& span);

}  // namespace orrery
