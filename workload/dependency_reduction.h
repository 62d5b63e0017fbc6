#pragma once
// ReduceDependencies: the dependencies that say something new.
//
// Streams are FIFO, so "task t is done" means that the whole stream up to t is
// done, and everything that those tasks waited for. A vector clock per task
// (how far each stream must have come) tells which of the written dependencies
// follow from the others; those are dropped. What is left is at most one
// dependency per foreign stream, in stream order.
//
// Cost: O((tasks + dependencies) * streams) time, O(tasks * streams) memory.
#include <vector>

#include "workload/task.h"

namespace orrery {

// `stream_begin` has one entry more than there are streams; `order` is a
// topological order of all tasks; `written` holds what each task waits for.
std::vector<std::vector<Dependency>> ReduceDependencies(
    const std::vector<TaskId>& stream_begin,
    const std::vector<StreamId>& stream_of, const std::vector<TaskId>& order,
    const std::vector<std::vector<TaskId>>& written);

}  // namespace orrery
