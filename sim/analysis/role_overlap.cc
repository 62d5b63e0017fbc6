#include "sim/analysis/role_overlap.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/check.h"
#include "sim/engine/chip_sharing.h"
#include "workload/program/lengthening.h"

namespace orrery {
namespace {

TaskId At(const Role& role, size_t stream, int32_t place) {
  const TaskId begin = role.stream_begin(static_cast<StreamId>(stream));
  return static_cast<TaskId>(static_cast<int32_t>(begin) + place);
}

int32_t LengthOf(const Role& role, size_t stream) {
  return static_cast<int32_t>(role.stream_end(static_cast<StreamId>(stream))) -
         static_cast<int32_t>(role.stream_begin(static_cast<StreamId>(stream)));
}

// Of every task, how many tasks of each stream are done before it starts.
class Before {
 public:
  Before(const Role& role, size_t streams)
      : role_(role),
        streams_(streams),
        rows_(streams, 0),
        row_of_(static_cast<size_t>(role.task_count())) {
    std::vector<int32_t> next(streams, 0);
    bool moved = true;
    while (moved) {
      moved = false;
      for (size_t s = 0; s < streams; ++s) {
        while (next[s] < LengthOf(role, s) && Add(s, next)) {
          ++next[s];
          moved = true;
        }
      }
    }
    for (size_t s = 0; s < streams; ++s) {
      CHECK_EQ(next[s], LengthOf(role, s)) << "a role waits for itself";
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
    const TaskId task = At(role_, stream, place);
    const DependencyList needed = role_.dependencies(task);
    for (const Dependency& one : needed) {
      if (At(role_, Index(one.stream), next[Index(one.stream)]) <= one.task) {
        return false;
      }
    }
    // As the one before it, which is in the first row if it is the first.
    const int32_t before =
        place == 0 ? 0 : row_of_[Index(At(role_, stream, place - 1))];
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
      const TaskId first = role_.stream_begin(one.stream);
      rows_[row + Index(one.stream)] = std::max(
          rows_[row + Index(one.stream)],
          static_cast<int32_t>(one.task) - static_cast<int32_t>(first) + 1);
    }
    return true;
  }

  const Role& role_;
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
  Beside(const Role& role, const Before& before, size_t own, size_t other)
      : role_(role), before_(before), own_(own), other_(other) {}

  struct Held {
    ChipShare running;
    double spinning = 0;
  };
  Held Of(TaskId kernel, int32_t place) {
    for (; end_ < LengthOf(role_, other_); ++end_) {
      const TaskId task = At(role_, other_, end_);
      if (before_.of(task, own_) > place) break;
      if (!IsCommunication(role_.task(task).kind)) continue;
      const ChipShare& share = role_.communication(role_.task(task)).share;
      compute_.Add(end_, share.compute);
      memory_.Add(end_, share.memory);
      if (role_.task(task).kind != TaskKind::kCollective) continue;
      spinning_.Add(end_, share.compute);
    }
    const int32_t first = before_.of(kernel, other_);
    return {{compute_.From(first), memory_.From(first)}, spinning_.From(first)};
  }

 private:
  const Role& role_;
  const Before& before_;
  size_t own_;
  size_t other_;
  int32_t end_ = 0;
  WindowMost compute_;
  WindowMost memory_;
  WindowMost spinning_;
};

bool NeedsChip(const Role& role, TaskId task) {
  if (role.task(task).kind != TaskKind::kKernel) return false;
  const ChipShare& demand = role.kernel(role.task(task)).demand;
  return demand.compute > 0 || demand.memory > 0;
}

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
void FindCallsBeside(const Role& role, const Before& before, size_t own,
                     size_t other, std::vector<bool>& beside) {
  const int32_t length = LengthOf(role, own);
  std::vector<int32_t> kernels(static_cast<size_t>(length) + 1, 0);
  for (int32_t i = 0; i < length; ++i) {
    kernels[static_cast<size_t>(i) + 1] =
        kernels[static_cast<size_t>(i)] +
        (NeedsChip(role, At(role, own, i)) ? 1 : 0);
  }
  int32_t after = 0;
  for (int32_t i = 0; i < LengthOf(role, other); ++i) {
    const TaskId call = At(role, other, i);
    while (after < length && before.of(At(role, own, after), other) <= i) {
      ++after;
    }
    if (!IsCommunication(role.task(call).kind)) continue;
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
  const Before before(role, streams.size());
  const auto tasks = static_cast<size_t>(role.task_count());
  RoleOverlap result = {.at_worst = std::vector<double>(tasks, 1),
                        .spinning = std::vector<double>(tasks, 1),
                        .beside_kernels = std::vector<bool>(tasks)};
  std::vector<size_t> with_kernels;
  for (size_t s = 0; s < streams.size(); ++s) {
    for (int32_t i = 0; i < LengthOf(role, s); ++i) {
      if (!NeedsChip(role, At(role, s, i))) continue;
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
      if (s == own || LengthOf(role, s) == 0) continue;
      others.emplace_back(role, before, own, s);
      FindCallsBeside(role, before, own, s, result.beside_kernels);
    }
    for (int32_t i = 0; i < LengthOf(role, own); ++i) {
      const TaskId task = At(role, own, i);
      if (!NeedsChip(role, task)) continue;
      Beside::Held held;
      for (Beside& other : others) {
        const Beside::Held one = other.Of(task, i);
        // Of a stream one call at a time, which either runs or waits.
        held.running.compute += one.running.compute;
        held.running.memory += one.running.memory;
        held.spinning += one.spinning;
      }
      held.spinning = std::min(held.spinning, kMostSpinning);
      const KernelWork& kernel = role.kernel(role.task(task));
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
