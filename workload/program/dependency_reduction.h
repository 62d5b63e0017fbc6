#pragma once
// ReduceDependencies: the dependencies that say something new.
//
// Streams are FIFO, so "task t is done" means that the whole stream up to t is
// done, and everything that those tasks waited for. A vector clock per task
// (how far each stream must have come) tells which of the written dependencies
// follow from the others; those are dropped. What is left is at most one
// dependency per foreign stream, in stream order.
//
// Cost: O((tasks + dependencies) * streams) time; a clock is kept for tasks
// that others wait for only.
#include <vector>

#include "workload/program/task.h"

namespace orrery {

// What every task waits for: those of task t are the entries from begin[t] to
// begin[t + 1], which has one entry more than there are tasks.
struct DependencyRows {
  std::vector<int32_t> begin;
  std::vector<Dependency> entries;
};

struct ReducedDependencies {
  DependencyRows rows;
  // Per stream: the first task that can never start because dependencies form a
  // cycle, or the end of the stream.
  std::vector<TaskId> reached;
};

// `stream_begin` has one entry more than there are streams.
ReducedDependencies ReduceDependencies(const std::vector<TaskId>& stream_begin,
                                       const DependencyRows& written);

}  // namespace orrery
