#include "analytic/step/pass_walk.h"

#include <algorithm>
#include <array>
#include <vector>

namespace orrery {
namespace {

constexpr double kNever = PassDelays::kNever;

// The rows of kernels and exchanges of one rank.
class Rows {
 public:
  Rows(const WalkOptions& options, double kernels)
      : options_(options), kernels_(kernels) {
    exchanges_.fill(kNever);
  }

  double kernels() const { return kernels_; }
  // The last task ends.
  double last() const { return last_; }
  bool waits() const {
    const DimensionSet& waited = options_.waited;
    return waited.Has(Dimension::kTensor) || waited.Has(Dimension::kContext) ||
           waited.Has(Dimension::kExpert);
  }

  // Nothing of it before `after`; returns when it ends.
  double Run(const TimedTask& task, double after) {
    const bool waited = task.dimension && options_.waited.Has(*task.dimension);
    double& row = task.dimension
                      ? exchanges_[static_cast<size_t>(*task.dimension)]
                      : kernels_;
    double start = std::max(row, after);
    if (waited || last_is_waited_for_) start = std::max(start, last_);
    last_is_waited_for_ = waited;
    return row = last_ = start + (options_.least ? task.least : task.seconds);
  }
  // The chip does nothing else.
  void HoldUp(double seconds, double after) {
    kernels_ = std::max(kernels_, after) + seconds;
  }

 private:
  WalkOptions options_;
  double kernels_;
  std::array<double, kDimensions> exchanges_;
  double last_ = kNever;
  bool last_is_waited_for_ = false;
};

// The tasks of one unit, one by one.
class UnitWalk {
 public:
  UnitWalk(const PassTasks& list, double input) : list_(list), input_(input) {
    ends_.reserve(list.tasks.size());
  }

  bool finished() const { return ends_.size() == list_.tasks.size(); }
  // The first task waits for the input, whatever it is; and this one for what
  // else there is.
  void Next(Rows& rows, double after = kNever) {
    const TimedTask& task = list_.tasks[ends_.size()];
    if (ends_.empty()) after = std::max(after, input_);
    for (const int32_t before : task.after) {
      after = std::max(after, EndOf(before));
    }
    ends_.push_back(rows.Run(task, after));
  }
  double Result(const Rows& rows) const {
    double result = kNever;
    for (const int32_t exit : list_.exits) {
      result = std::max(result, EndOf(exit));
    }
    if (rows.waits() && !ends_.empty()) result = std::max(result, rows.last());
    return result;
  }

 private:
  double EndOf(int32_t task) const {
    return task == kPassInput ? input_ : ends_[static_cast<size_t>(task)];
  }

  const PassTasks& list_;
  double input_;
  std::vector<double> ends_;
};

// One of two passes that take turns.
class Turns {
 public:
  Turns(UnitTasks units, double input) : units_(units), input_(input) {
    for (const PassTasks* unit : units) total_ += unit->tasks.size();
    Skip();
  }

  bool finished() const { return unit_ == units_.size(); }
  double input() const { return input_; }
  bool IsBehind(const Turns& other) const {
    return done_ * other.total_ <= other.done_ * total_;
  }

  void Next(Rows& rows) {
    const PassTasks& list = *units_[unit_];
    if (!walk_) {
      if (list.held_up > 0) rows.HoldUp(list.held_up, input_);
      walk_.emplace(list, input_);
    }
    walk_->Next(rows);
    ++done_;
    if (!walk_->finished()) return;
    input_ = walk_->Result(rows);
    walk_.reset();
    ++unit_;
    Skip();
  }

 private:
  void Skip() {
    while (!finished() && units_[unit_]->tasks.empty()) ++unit_;
  }

  UnitTasks units_;
  double input_;
  std::optional<UnitWalk> walk_;
  size_t unit_ = 0;
  size_t done_ = 0;
  size_t total_ = 0;
};

PassMoment Walk(const PassTasks& list, const WalkOptions& options,
                const PassMoment& start) {
  Rows rows(options, start.kernels);
  UnitWalk walk(list, start.result);
  while (!walk.finished()) walk.Next(rows);
  return {rows.kernels(), walk.Result(rows)};
}

}  // namespace

PassDelays WalkPass(const PassTasks& tasks, const WalkOptions& options) {
  PassDelays delays;
  delays.after_kernels = Walk(tasks, options, {.kernels = 0, .result = kNever});
  delays.after_input = Walk(tasks, options, {.kernels = kNever, .result = 0});
  return tasks.held_up > 0 ? PassDelays(tasks.held_up).Then(delays) : delays;
}

PassMoment WalkTail(const PassTasks& tasks, const WalkOptions& options) {
  size_t last = tasks.tasks.size();
  while (last > 0 && tasks.tasks[last - 1].dimension) --last;
  Rows rows(options, kNever);
  UnitWalk walk(tasks, kNever);
  for (size_t i = 0; i < tasks.tasks.size(); ++i) {
    walk.Next(rows, i + 1 == last ? 0 : kNever);
  }
  return {rows.kernels(), walk.Result(rows)};
}

PairDelays WalkPair(UnitTasks first, UnitTasks second, bool least) {
  const auto walk = [&](double kernels, double input_a, double input_b) {
    Rows rows({.least = least}, kernels);
    Turns a(first, input_a);
    Turns b(second, input_b);
    while (!a.finished() || !b.finished()) {
      const bool is_a = b.finished() || (!a.finished() && a.IsBehind(b));
      (is_a ? a : b).Next(rows);
    }
    return PassMoment{rows.kernels(),
                      std::max({rows.kernels(), a.input(), b.input()})};
  };
  return {.after_kernels = walk(0, kNever, kNever),
          .after_first = walk(kNever, 0, kNever),
          .after_second = walk(kNever, kNever, 0)};
}

}  // namespace orrery
