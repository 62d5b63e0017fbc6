#include "workload/dependency_reduction.h"

#include <algorithm>

#include "base/ids.h"

namespace orrery {
namespace {

// How far each stream must have come: the number of its tasks, as an end.
class Clocks {
 public:
  Clocks(size_t tasks, const std::vector<TaskId>& stream_begin)
      : streams_(stream_begin.size() - 1), ends_(tasks * streams_) {
    for (size_t i = 0; i < ends_.size(); ++i) {
      ends_[i] = static_cast<int32_t>(stream_begin[i % streams_]);
    }
  }
  int32_t& end(TaskId task, size_t stream) {
    return ends_[Index(task) * streams_ + stream];
  }
  // `task` also needs all that `before` needed.
  void Join(TaskId task, TaskId before) {
    for (size_t s = 0; s < streams_; ++s) {
      end(task, s) = std::max(end(task, s), end(before, s));
    }
  }

 private:
  size_t streams_;
  std::vector<int32_t> ends_;
};

}  // namespace

std::vector<std::vector<Dependency>> ReduceDependencies(
    const std::vector<TaskId>& stream_begin,
    const std::vector<StreamId>& stream_of, const std::vector<TaskId>& order,
    const std::vector<std::vector<TaskId>>& written) {
  const size_t streams = stream_begin.size() - 1;
  Clocks done(stream_of.size(), stream_begin);  // once the task itself is done
  std::vector<std::vector<Dependency>> needed(stream_of.size());
  for (const TaskId task : order) {
    const size_t own = Index(stream_of[Index(task)]);
    if (task > stream_begin[own]) {
      done.Join(task, static_cast<TaskId>(static_cast<int32_t>(task) - 1));
    }
    // The furthest written dependency per stream.
    std::vector<int32_t> furthest(streams, -1);
    for (const TaskId before : written[Index(task)]) {
      int32_t& far = furthest[Index(stream_of[Index(before)])];
      far = std::max(far, static_cast<int32_t>(before));
    }
    furthest[own] = -1;  // implied by the stream's order
    for (size_t s = 0; s < streams; ++s) {
      if (furthest[s] < done.end(task, s)) continue;
      bool implied = false;
      for (size_t other = 0; other < streams && !implied; ++other) {
        implied =
            other != s && furthest[other] >= 0 &&
            done.end(static_cast<TaskId>(furthest[other]), s) > furthest[s];
      }
      if (!implied) {
        needed[Index(task)].push_back(
            {static_cast<StreamId>(s), static_cast<TaskId>(furthest[s])});
      }
    }
    for (const Dependency& dependency : needed[Index(task)]) {
      done.Join(task, dependency.task);
    }
    done.end(task, own) = static_cast<int32_t>(task) + 1;
  }
  return needed;
}

}  // namespace orrery
