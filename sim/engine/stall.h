#pragma once
// ExplainStall: why tasks remain when nothing is left to happen.
//
// Every stream that is not finished waits for another stream: for a task of its
// own rank, or for a partner to come to the same call. Following who waits for
// whom from the lowest such stream leads into a cycle, or to a partner that
// will never come; the text shows that chain, one line per stream: rank,
// stream, task, and what it waits for.
#include <string>

#include "sim/engine/engine_state.h"
#include "workload/program/program.h"

namespace orrery {

// Requires: at least one stream is unfinished.
std::string ExplainStall(const Program& program, const EngineState& state);

}  // namespace orrery
