#include "sim/analysis/role_overlap.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/check.h"
#include "sim/engine/chip_sharing.h"
#include "workload/program/lengthening.h"
#include "workload/program/loop_cursor.h"

namespace orrery {
namespace {

// The tasks of a role one by one, with all turns of its loop.
class TaskList {
 public:
  TaskList(const Role& role, size_t streams) : role_(role) {
    // Without a loop a task is kept at its own number.
    const bool loops = role.loop().turns > 1;
    const auto tasks = static_cast<size_t>(role.task_count());
    if (loops) places_.reserve(tasks);
    needs_chip_.reserve(tasks);
    for (size_t s = 0; s < streams; ++s) {
      const auto stream = static_cast<StreamId>(s);
      begins_.push_back(static_cast<int32_t>(role.stream_begin(stream)));
      const TaskId end = role.stream_end(stream);
      for (LoopCursor at = LoopCursor::AtBeginning(role, stream);
           at.next != end; at.MoveOn(role.loop(), stream)) {
        if (loops) places_.push_back({at.place, at.turn});
        needs_chip_.push_back(NeedsChip(role.at(at.place)));
      }
    }
    begins_.push_back(role.task_count());
  }

  const Role& role() const { return role_; }
  size_t streams() const { return begins_.size() - 1; }
  size_t count() const { return needs_chip_.size(); }
  TaskId At(size_t stream, int32_t place) const {
    return static_cast<TaskId>(begins_[stream] + place);
  }
  int32_t LengthOf(size_t stream) const {
    return begins_[stream + 1] - begins_[stream];
  }
  const Task& operator[](TaskId task) const {
    return role_.at(PlaceOf(task).place);
  }
  DependencyList DependenciesOf(TaskId task) const {
    const LoopPlace at = PlaceOf(task);
    return {role_.dependencies_at(at.place), role_.loop(), at.turn};
  }
  // Whether it is a kernel that has use for the chip.
  bool NeedsChip(TaskId task) const { return needs_chip_[Index(task)] != 0; }

 private:
  LoopPlace PlaceOf(TaskId task) const {
    return places_.empty() ? LoopPlace{static_cast<PlaceId>(task), 0}
                           : places_[Index(task)];
  }
  bool NeedsChip(const Task& task) const {
    if (task.kind != TaskKind::kKernel) return false;
    const ChipShare& demand = role_.kernel(task).demand;
    return demand.compute > 0 || demand.memory > 0;
  }

  const Role& role_;
  std::vector<int32_t> begins_;    // first tasks of streams, and one more
  std::vector<LoopPlace> places_;  // of a role with a loop
  std::vector<char> needs_chip_;
};

// Of every task, how many tasks of each stream are done before it starts.
class Before {
 public:
  explicit Before(const TaskList& tasks)
      : tasks_(tasks),
        streams_(tasks.streams()),
        rows_(streams_, 0),
        row_of_(tasks.count()) {
    std::vector<int32_t> next(streams_, 0);
    bool moved = true;
    while (moved) {
      moved = false;
      for (size_t s = 0; s < streams_; ++s) {
        while (next[s] < tasks.LengthOf(s) && Add(s, next)) {
          ++next[s];
          moved = true;
        }
      }
    }
    for (size_t s = 0; s < streams_; ++s) {
      CHECK_EQ(next[s], tasks.LengthOf(s)) << "a role waits for itself";
    }
  }

  // Requires: another stream than the task's own.
  int32_t of(TaskId task, size_t stream) const {
    return rows_[static_cast<size_t>(row_of_[Index(task)]) * streams_ + stream];
  }

 private:
  // The next task of a stream, if what it needs is there.
  bool Add(size_t stream, const std::vector<int32_t>& next) {
    const int32_t place = next[stream];
    const TaskId task = tasks_.At(stream, place);
    const DependencyList needed = tasks_.DependenciesOf(task);
    for (const Dependency& one : needed) {
      if (tasks_.At(Index(one.stream), next[Index(one.stream)]) <= one.task) {
        return false;
      }
    }
    // As the one before it, which is in the first row if it is the first.
    const int32_t before =
        place == 0 ? 0 : row_of_[Index(tasks_.At(stream, place - 1))];
    row_of_[Index(task)] = before;
    if (needed.empty()) return true;
    const size_t row = rows_.size();
    row_of_[Index(task)] = static_cast<int32_t>(row / streams_);
    rows_.resize(row + streams_);
    std::copy_n(rows_.begin() + static_cast<std::ptrdiff_t>(before) *
                                    static_cast<std::ptrdiff_t>(streams_),
                streams_, rows_.begin() + static_cast<std::ptrdiff_t>(row));
    for (const Dependency& one : needed) {
      const size_t other =
          static_cast<size_t>(row_of_[Index(one.task)]) * streams_;
      for (size_t s = 0; s < streams_; ++s) {
        rows_[row + s] = std::max(rows_[row + s], rows_[other + s]);
      }
      const TaskId first = tasks_.At(Index(one.stream), 0);
      rows_[row + Index(one.stream)] = std::max(
          rows_[row + Index(one.stream)],
          static_cast<int32_t>(one.task) - static_cast<int32_t>(first) + 1);
    }
    return true;
  }

  const TaskList& tasks_;
  size_t streams_;
  std::vector<int32_t> rows_;    // by row and stream
  std::vector<int32_t> row_of_;  // by task
};

// The largest of a window that moves forward over a stream's calls.
class WindowMost {
 public:
  void Add(int32_t place, double value) {
    while (!kept_.empty() && kept_.back().second <= value) kept_.pop_back();
    if (value > 0) kept_.emplace_back(place, value);
  }
  double From(int32_t first) {
    while (!kept_.empty() && kept_.front().first < first) kept_.pop_front();
    return kept_.empty() ? 0 : kept_.front().second;
  }

 private:
  std::deque<std::pair<int32_t, double>> kept_;
};

// What of another stream can be beside the kernels of one, which are asked for
// in order.
class Beside {
 public:
  Beside(const TaskList& tasks, const Before& before, size_t own, size_t other)
      : tasks_(tasks), before_(before), own_(own), other_(other) {}

  struct Held {
    ChipShare running;
    double spinning = 0;
  };
  Held Of(TaskId kernel, int32_t place) {
    for (; end_ < tasks_.LengthOf(other_); ++end_) {
      const TaskId id = tasks_.At(other_, end_);
      if (before_.of(id, own_) > place) break;
      const Task& task = tasks_[id];
      if (!IsCommunication(task.kind)) continue;
      const ChipShare& share = tasks_.role().communication(task).share;
      compute_.Add(end_, share.compute);
      memory_.Add(end_, share.memory);
      if (task.kind != TaskKind::kCollective) continue;
      spinning_.Add(end_, share.compute);
    }
    const int32_t first = before_.of(kernel, other_);
    return {{compute_.From(first), memory_.From(first)}, spinning_.From(first)};
  }

 private:
  const TaskList& tasks_;
  const Before& before_;
  size_t own_;
  size_t other_;
  int32_t end_ = 0;
  WindowMost compute_;
  WindowMost memory_;
  WindowMost spinning_;
};

// A kernel's time as a multiple of that alone, when its work goes on at `rate`:
// its launch needs nothing of the chip.
double Stretched(const KernelWork& kernel, double rate) {
  if (rate >= 1 || kernel.duration <= Duration(0)) return 1;
  const double launch =
      Picoseconds(kernel.facts.launch) / Picoseconds(kernel.duration);
  return launch + (1 - launch) / rate;
}

double RateOf(const KernelWork& kernel, double compute, double memory,
              double sharers) {
  double rate = 1;
  if (kernel.demand.compute > 0) {
    rate = std::min(rate, compute / (kernel.demand.compute * sharers));
  }
  if (kernel.demand.memory > 0) {
    rate = std::min(rate, memory / (kernel.demand.memory * sharers));
  }
  return rate;
}

// Whether kernels of `own` can run beside each call of `other`.
void FindCallsBeside(const TaskList& tasks, const Before& before, size_t own,
                     size_t other, std::vector<bool>& beside) {
  const int32_t length = tasks.LengthOf(own);
  std::vector<int32_t> kernels(static_cast<size_t>(length) + 1, 0);
  for (int32_t i = 0; i < length; ++i) {
    kernels[static_cast<size_t>(i) + 1] =
        kernels[static_cast<size_t>(i)] +
        (tasks.NeedsChip(tasks.At(own, i)) ? 1 : 0);
  }
  int32_t after = 0;
  for (int32_t i = 0; i < tasks.LengthOf(other); ++i) {
    const TaskId call = tasks.At(other, i);
    while (after < length && before.of(tasks.At(own, after), other) <= i) {
      ++after;
    }
    if (!IsCommunication(tasks[call].kind)) continue;
    const int32_t first = before.of(call, own);
    if (first < after && kernels[static_cast<size_t>(first)] <
                             kernels[static_cast<size_t>(after)]) {
      beside[Index(call)] = true;
    }
  }
}

}  // namespace

namespace {

// By task, of a role with few turns.
RoleOverlap OverlapOfTasks(const Role& role,
                           const IdVector<StreamId, Stream>& streams) {
  const TaskList tasks(role, streams.size());
  const Before before(tasks);
  RoleOverlap result = {.at_worst = std::vector<double>(tasks.count(), 1),
                        .spinning = std::vector<double>(tasks.count(), 1),
                        .beside_kernels = std::vector<bool>(tasks.count())};
  std::vector<size_t> with_kernels;
  for (size_t s = 0; s < streams.size(); ++s) {
    for (int32_t i = 0; i < tasks.LengthOf(s); ++i) {
      if (!tasks.NeedsChip(tasks.At(s, i))) continue;
      with_kernels.push_back(s);
      break;
    }
  }
  result.kernels_share = with_kernels.size() > 1;
  // What doubles leave of nothing.
  constexpr double kNothing = 1e-6;
  bool stopped = false;
  for (const size_t own : with_kernels) {
    std::vector<Beside> others;
    for (size_t s = 0; s < streams.size(); ++s) {
      if (s == own || tasks.LengthOf(s) == 0) continue;
      others.emplace_back(tasks, before, own, s);
      FindCallsBeside(tasks, before, own, s, result.beside_kernels);
    }
    for (int32_t i = 0; i < tasks.LengthOf(own); ++i) {
      const TaskId task = tasks.At(own, i);
      if (!tasks.NeedsChip(task)) continue;
      Beside::Held held;
      for (Beside& other : others) {
        const Beside::Held one = other.Of(task, i);
        // Of a stream one call at a time, which either runs or waits.
        held.running.compute += one.running.compute;
        held.running.memory += one.running.memory;
        held.spinning += one.spinning;
      }
      held.spinning = std::min(held.spinning, kMostSpinning);
      const KernelWork& kernel = role.kernel(tasks[task]);
      const auto sharers = static_cast<double>(with_kernels.size());
      const double left =
          std::min(1 - held.running.compute, 1 - held.running.memory);
      const double rate = RateOf(kernel, 1 - held.running.compute,
                                 1 - held.running.memory, sharers);
      stopped |= left < kNothing || rate < kNothing;
      result.at_worst[Index(task)] = stopped ? 1 : Stretched(kernel, rate);
      result.spinning[Index(task)] =
          Stretched(kernel, RateOf(kernel, 1 - held.spinning, 1, sharers));
      result.most_spinning =
          std::max(result.most_spinning, 1 / (1 - held.spinning));
    }
  }
  if (stopped) result.at_worst.clear();
  return result;
}

}  // namespace

FewTurns::FewTurns(const Role& role) : loop_(role.loop()) {
  const int32_t few = std::min(loop_.turns, kFewTurns);
  int32_t more = 0;
  for (size_t s = 0; s < kMaxStreams; ++s) {
    begin_[s] = more;
    more += (few - 1) * loop_.bodies[s].length;
  }
}

TaskId FewTurns::StandIn(StreamId stream, LoopPlace of) const {
  const RoleLoop::Body& body = loop_.bodies[Index(stream)];
  const int32_t few = std::min(loop_.turns, kFewTurns);
  int32_t turns = 0;
  if (of.place >= body.end()) {
    turns = few - 1;
  } else if (of.place >= body.begin) {
    turns = std::min(of.turn, kTurnsAtEnds);
    turns = std::max(turns, of.turn - loop_.turns + few);
  }
  return static_cast<TaskId>(static_cast<int32_t>(of.place) +
                             begin_[Index(stream)] + turns * body.length);
}

RoleOverlap OverlapOf(const Role& role,
                      const IdVector<StreamId, Stream>& streams) {
  if (role.loop().turns == 1) return OverlapOfTasks(role, streams);
  const int32_t few = std::min(role.loop().turns, kFewTurns);
  return OverlapOfTasks(WithTurns(role, few), streams);
}

}  // namespace orrery
