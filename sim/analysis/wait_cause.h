#pragma once
// What a wait was spent on.
//
// Read off the chain of what the rank waited for (wait_chain.h): what took most
// of the wait is its cause.
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
