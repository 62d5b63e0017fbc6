#include "workload/program/dependency_reduction.h"

#include <absl/types/span.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/ids.h"
#include "workload/program/program.h"

namespace orrery {
namespace {

// How far each stream must have come: the number of its tasks, as an end.
using Clock = std::array<int32_t, kMaxStreams>;

void Join(Clock& clock, const Clock& other) {
  for (size_t s = 0; s < clock.size(); ++s) {
    clock[s] = std::max(clock[s], other[s]);
  }
}

class Reduction {
 public:
  Reduction(const std::vector<TaskId>& stream_begin,
            const DependencyRows& written)
      : stream_begin_(stream_begin),
        written_(written),
        streams_(stream_begin.size() - 1),
        next_(stream_begin.begin(), stream_begin.end() - 1),
        clock_place_(written.begin.size() - 1, kNoClock),
        needed_(written.entries.size()),
        needed_count_(written.begin.size() - 1) {
    Clock start{};
    for (size_t s = 0; s < streams_; ++s) {
      start[s] = static_cast<int32_t>(stream_begin[s]);
    }
    now_.assign(streams_, start);
    int32_t clocks = 0;
    for (const Dependency& dependency : written.entries) {
      int32_t& place = clock_place_[Index(dependency.task)];
      if (place == kNoClock) place = clocks++;
    }
    clocks_.resize(static_cast<size_t>(clocks));
  }

  // Streams run as they would if no task took time.
  ReducedDependencies Run() && {
    uint32_t ready = (uint32_t{1} << streams_) - 1;
    while (ready != 0) {
      const auto stream = static_cast<size_t>(std::countr_zero(ready));
      ready &= ready - 1;
      const TaskId from = next_[stream];
      while (next_[stream] < stream_begin_[stream + 1] && TakeNext(stream)) {
      }
      if (next_[stream] != from) ready |= std::exchange(waiters_[stream], 0);
    }
    return {Pack(), std::move(next_)};
  }

 private:
  static constexpr int32_t kNoClock = -1;

  absl::Span<const Dependency> Written(TaskId task) const {
    const auto first = static_cast<size_t>(written_.begin[Index(task)]);
    const auto last = static_cast<size_t>(written_.begin[Index(task) + 1]);
    return absl::MakeConstSpan(written_.entries.data() + first, last - first);
  }
  const Clock& DoneBefore(int32_t task) const {
    const int32_t place = clock_place_[static_cast<size_t>(task)];
    return clocks_[static_cast<size_t>(place)];
  }

  // Whether the stream's next task could be taken; if not, the stream that is
  // behind knows who waits.
  bool TakeNext(size_t stream) {
    const TaskId task = next_[stream];
    const absl::Span<const Dependency> written = Written(task);
    for (const Dependency& before : written) {
      if (before.task < next_[Index(before.stream)]) continue;
      waiters_[Index(before.stream)] |= uint32_t{1} << stream;
      return false;
    }
    Clock& clock = now_[stream];
    if (!written.empty()) Reduce(task, stream, written, clock);
    next_[stream] = static_cast<TaskId>(static_cast<int32_t>(task) + 1);
    clock[stream] = static_cast<int32_t>(next_[stream]);
    const int32_t place = clock_place_[Index(task)];
    if (place != kNoClock) clocks_[static_cast<size_t>(place)] = clock;
    return true;
  }

  // Keeps what neither the stream's clock nor another dependency implies.
  void Reduce(TaskId task, size_t stream, absl::Span<const Dependency> written,
              Clock& clock) {
    Clock furthest;
    uint32_t of = 0;  // the streams it waits for
    for (const Dependency& before : written) {
      const size_t s = Index(before.stream);
      if (s == stream) continue;  // implied by the stream's order
      const auto at = static_cast<int32_t>(before.task);
      const bool known = (of >> s & 1) != 0;
      furthest[s] = known ? std::max(furthest[s], at) : at;
      of |= uint32_t{1} << s;
    }
    const auto row = static_cast<size_t>(written_.begin[Index(task)]);
    size_t count = 0;
    for (uint32_t rest = of; rest != 0; rest &= rest - 1) {
      const auto s = static_cast<size_t>(std::countr_zero(rest));
      if (furthest[s] < clock[s]) continue;
      bool implied = false;
      for (uint32_t others = of & ~(uint32_t{1} << s); others != 0 && !implied;
           others &= others - 1) {
        const auto other = static_cast<size_t>(std::countr_zero(others));
        implied = DoneBefore(furthest[other])[s] > furthest[s];
      }
      if (implied) continue;
      needed_[row + count++] = {static_cast<StreamId>(s),
                                static_cast<TaskId>(furthest[s])};
    }
    needed_count_[Index(task)] = static_cast<uint8_t>(count);
    for (size_t i = 0; i < count; ++i) {
      Join(clock, DoneBefore(static_cast<int32_t>(needed_[row + i].task)));
    }
  }

  DependencyRows Pack() const {
    DependencyRows rows;
    rows.begin.reserve(written_.begin.size());
    rows.entries.reserve(needed_.size());
    for (size_t task = 0; task < needed_count_.size(); ++task) {
      rows.begin.push_back(static_cast<int32_t>(rows.entries.size()));
      const auto first = needed_.begin() + written_.begin[task];
      rows.entries.insert(rows.entries.end(), first,
                          first + needed_count_[task]);
    }
    rows.begin.push_back(static_cast<int32_t>(rows.entries.size()));
    return rows;
  }

  const std::vector<TaskId>& stream_begin_;
  const DependencyRows& written_;
  size_t streams_;
  std::vector<TaskId> next_;
  std::vector<Clock> now_;  // per stream, once the task before `next_` is done
  std::array<uint32_t, kMaxStreams> waiters_{};
  // Clocks of tasks that others wait for, once they are done.
  std::vector<int32_t> clock_place_;
  std::vector<Clock> clocks_;
  // Rows that begin where the written ones do, and how much of each is used.
  std::vector<Dependency> needed_;
  std::vector<uint8_t> needed_count_;
};

}  // namespace

ReducedDependencies ReduceDependencies(const std::vector<TaskId>& stream_begin,
                                       const DependencyRows& written) {
  return Reduction(stream_begin, written).Run();
}

}  // namespace orrery
