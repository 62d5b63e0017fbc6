#include "sim/engine/span_sinks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units_text.h"

namespace orrery {

absl::Status TotalsSink::Expect(const Program& program) {
  streams_ = program.streams().size();
  totals_.assign(program.ranks().size() * streams_, StreamTotals{});
  return absl::OkStatus();
}

StreamTotals TotalsSink::of(StreamId stream) const {
  StreamTotals sum;
  for (size_t i = Index(stream); i < totals_.size(); i += streams_) {
    sum.tasks += totals_[i].tasks;
    sum.running += totals_[i].running;
    sum.waiting_for_dependencies += totals_[i].waiting_for_dependencies;
    sum.waiting_for_partners += totals_[i].waiting_for_partners;
  }
  return sum;
}

absl::Status RecordingSink::Expect(const Program& program) {
  const int64_t allowed =
      limit_.value() / static_cast<int64_t>(sizeof(TaskSpan));
  if (program.task_count() > allowed) {
    return absl::ResourceExhaustedError(fmt::format(
        "to record {} tasks takes {} bytes each, more than the {} allowed; "
        "record fewer ranks or raise the limit",
        program.task_count(), sizeof(TaskSpan), ToBinaryText(limit_, 4)));
  }
  spans_.reserve(static_cast<size_t>(program.task_count()));
  return absl::OkStatus();
}

void HashSink::Add(const TaskSpan& span) {
  // SplitMix64's finaliser (Steele, Lea, Flood 2014) over one word at a time.
  const auto mix = [this](uint64_t word) {
    uint64_t z = hash_ + word + 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    hash_ = z ^ (z >> 31);
  };
  mix(static_cast<uint64_t>(span.rank));
  mix(static_cast<uint64_t>(span.stream) << 32 |
      static_cast<uint64_t>(span.task));
  mix(static_cast<uint64_t>(span.name) << 8 | static_cast<uint64_t>(span.kind));
  mix(static_cast<uint64_t>(span.release.by) << 32 |
      static_cast<uint32_t>(span.release.index));
  mix(static_cast<uint64_t>(span.headed.time_since_epoch().count()));
  mix(static_cast<uint64_t>(span.ready.time_since_epoch().count()));
  mix(static_cast<uint64_t>(span.started.time_since_epoch().count()));
  mix(static_cast<uint64_t>(span.ended.time_since_epoch().count()));
  ++count_;
}

std::vector<Time> EligibleTimes(const Program& program,
                                absl::Span<const TaskSpan> spans) {
  // When each task of each rank ended.
  std::vector<size_t> begin;
  size_t tasks = 0;
  for (const RankId rank : program.ranks().ids()) {
    begin.push_back(tasks);
    tasks += static_cast<size_t>(program.role_of(rank).task_count());
  }
  std::vector<Time> ended(tasks);
  for (const TaskSpan& span : spans) {
    ended[begin[Index(span.rank)] + Index(span.task)] = span.ended;
  }
  std::vector<Time> eligible;
  eligible.reserve(spans.size());
  for (const TaskSpan& span : spans) {
    Time at{};
    for (const Dependency& needed :
         program.role_of(span.rank).dependencies(span.task)) {
      at = std::max(at, ended[begin[Index(span.rank)] + Index(needed.task)]);
    }
    eligible.push_back(at);
  }
  return eligible;
}

}  // namespace orrery
