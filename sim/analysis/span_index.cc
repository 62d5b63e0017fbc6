#include "sim/analysis/span_index.h"

#include <algorithm>
#include <tuple>
#include <utility>

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
  if (spans.size() < tasks) {
    whole_ = false;
    begin_.clear();
    parts_.reserve(spans.size());
    for (size_t i = 0; i < spans.size(); ++i) {
      parts_.push_back({spans[i].rank, spans[i].task, static_cast<int64_t>(i)});
    }
    std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
      return std::tie(a.rank, a.task) < std::tie(b.rank, b.task);
    });
    return;
  }
  CHECK_EQ(spans.size(), tasks);
  places_.resize(tasks);
  for (size_t i = 0; i < spans.size(); ++i) {
    places_[begin_[Index(spans[i].rank)] + Index(spans[i].task)] =
        static_cast<int64_t>(i);
  }
}

const TaskSpan* SpanIndex::FindPart(RankId rank, TaskId task) const {
  const auto at = std::lower_bound(
      parts_.begin(), parts_.end(), std::pair(rank, task),
      [](const Part& part, const std::pair<RankId, TaskId>& wanted) {
        return std::tie(part.rank, part.task) <
               std::tie(wanted.first, wanted.second);
      });
  if (at == parts_.end() || at->rank != rank || at->task != task) {
    return nullptr;
  }
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
