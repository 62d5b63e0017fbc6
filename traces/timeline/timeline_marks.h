#pragma once
// MarkTable: where in the step every task of a program belongs, without a
// search per question: a timeline asks several times for each of millions of
// spans.
#include <vector>

#include "base/ids.h"
#include "base/simulation_ids.h"
#include "traces/format/span.h"
#include "workload/program/program.h"

namespace orrery {

class MarkTable {
 public:
  // `program` outlives this.
  explicit MarkTable(const Program& program);

  const Mark& of(RankId rank, TaskId task) const {
    return *marks_[program_.ranks()[rank].role][Index(task)];
  }
  const Mark& of(const TaskSpan& span) const {
    return of(span.rank, span.task);
  }

 private:
  const Program& program_;
  IdVector<RoleId, std::vector<const Mark*>> marks_;  // by task
};

}  // namespace orrery
