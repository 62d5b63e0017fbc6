#pragma once
// SpanIndex: the recorded spans of a run by rank and task, and who made each
// task start.
//
// Requires: `spans` holds every task of every rank of the program, once, or a
// part of them (RecordingWindow), and outlives the index.
#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "base/simulation_ids.h"
#include "traces/format/span.h"
#include "workload/program/program.h"

namespace orrery {

class SpanIndex {
 public:
  SpanIndex(const Program& program, absl::Span<const TaskSpan> spans);

  // Requires: it was recorded.
  const TaskSpan& of(RankId rank, TaskId task) const {
    return is_whole() ? spans_[static_cast<size_t>(
                            places_[begin_[Index(rank)] + Index(task)])]
                      : *FindPart(rank, task);
  }
  // Null if it was not recorded.
  const TaskSpan* find(RankId rank, TaskId task) const {
    return is_whole() ? &of(rank, task) : FindPart(rank, task);
  }
  // Visits what was recorded of a rank, in the order of its tasks.
  template <class Visit>
  void ForEach(RankId rank, Visit visit) const {
    for (size_t i = begin_[Index(rank)]; i < begin_[Index(rank) + 1]; ++i) {
      visit(spans_[static_cast<size_t>(is_whole() ? places_[i]
                                                  : parts_[i].place)]);
    }
  }
  bool is_whole() const { return whole_; }
  absl::Span<const TaskSpan> spans() const { return spans_; }

  // The span whose end or arrival let this one start; null if it started at the
  // beginning, or if that one was not recorded. A partner's span is that of the
  // same call on the rank that came last; any other ended exactly when this one
  // could start.
  const TaskSpan* ReleaserOf(const TaskSpan& span) const;

  // The same call on another member of its group; null if it was not recorded.
  // Requires: communication.
  const TaskSpan* OnPartner(const TaskSpan& span, RankId partner) const;

 private:
  const Program& program_;
  absl::Span<const TaskSpan> spans_;
  // Of each rank's tasks, in places_ or parts_, and the end of all.
  std::vector<size_t> begin_;
  std::vector<int64_t> places_;  // in spans_
  // Of a part: by rank and task.
  struct Part {
    TaskId task;
    int64_t place;
  };
  void IndexPart();
  const TaskSpan* FindPart(RankId rank, TaskId task) const;
  std::vector<Part> parts_;
  bool whole_ = true;
};

}  // namespace orrery
