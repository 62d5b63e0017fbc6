#include "sim/analysis/span_index.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/ids.h"

namespace orrery {

SpanIndex::SpanIndex(const Program& program, absl::Span<const TaskSpan> spans)
    : program_(program), spans_(spans) {
  size_t tasks = 0;
  for (const RankId rank : program.ranks().ids()) {
    begin_.push_back(tasks);
    tasks += static_cast<size_t>(program.role_of(rank).task_count());
  }
  begin_.push_back(tasks);
  if (spans.size() < tasks) {
    whole_ = false;
    IndexPart();
    return;
  }
  CHECK_EQ(spans.size(), tasks);
  places_.resize(tasks);
  for (size_t i = 0; i < spans.size(); ++i) {
    places_[begin_[Index(spans[i].rank)] + Index(spans[i].task)] =
        static_cast<int64_t>(i);
  }
}

// Ranks by counting, then the tasks of each by sorting.
void SpanIndex::IndexPart() {
  std::fill(begin_.begin(), begin_.end(), 0);
  for (const TaskSpan& span : spans_) ++begin_[Index(span.rank) + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<size_t> next(begin_.begin(), begin_.end() - 1);
  parts_.resize(spans_.size());
  for (size_t i = 0; i < spans_.size(); ++i) {
    parts_[next[Index(spans_[i].rank)]++] = {spans_[i].task,
                                             static_cast<int64_t>(i)};
  }
  for (size_t rank = 0; rank + 1 < begin_.size(); ++rank) {
    std::sort(parts_.begin() + static_cast<std::ptrdiff_t>(begin_[rank]),
              parts_.begin() + static_cast<std::ptrdiff_t>(begin_[rank + 1]),
              [](const Part& a, const Part& b) { return a.task < b.task; });
  }
}

const TaskSpan* SpanIndex::FindPart(RankId rank, TaskId task) const {
  const Part* begin = parts_.data() + begin_[Index(rank)];
  const Part* end = parts_.data() + begin_[Index(rank) + 1];
  const Part* at = std::lower_bound(
      begin, end, task,
      [](const Part& part, TaskId wanted) { return part.task < wanted; });
  if (at == end || at->task != task) return nullptr;
  return &spans_[static_cast<size_t>(at->place)];
}

const TaskSpan* SpanIndex::ReleaserOf(const TaskSpan& span) const {
  switch (span.release.by) {
    case Release::By::kBeginning:
      return nullptr;
    case Release::By::kStream:
      return find(span.rank,
                  static_cast<TaskId>(static_cast<int32_t>(span.task) - 1));
    case Release::By::kDependency:
      for (const Dependency& needed :
           program_.role_of(span.rank).dependencies(span.task)) {
        if (needed.stream == static_cast<StreamId>(span.release.index)) {
          return find(span.rank, needed.task);
        }
      }
      CHECK(false) << program_.Describe(span.rank, span.task)
                   << " was released by a stream it does not depend on";
    case Release::By::kPartner:
      return OnPartner(span, static_cast<RankId>(span.release.index));
  }
  CHECK(false) << "no such release";
  return nullptr;
}

const TaskSpan* SpanIndex::OnPartner(const TaskSpan& span,
                                     RankId partner) const {
  const Role& role = program_.role_of(span.rank);
  const auto slot = static_cast<SlotId>(role.task(span.task).slot);
  const GroupId group = program_.group_of(span.rank, slot);
  const std::vector<TaskId>& sequence = role.slots()[slot].sequence;
  // The n-th call of one member meets the n-th of the others.
  const auto n = std::lower_bound(sequence.begin(), sequence.end(), span.task) -
                 sequence.begin();
  const Role& other = program_.role_of(partner);
  for (const SlotId theirs : other.slots().ids()) {
    if (program_.group_of(partner, theirs) != group) continue;
    return find(partner,
                other.slots()[theirs].sequence[static_cast<size_t>(n)]);
  }
  CHECK(false) << "rank " << static_cast<int32_t>(partner) << " is no member";
  return nullptr;
}

}  // namespace orrery
