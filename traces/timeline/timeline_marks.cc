#include "traces/timeline/timeline_marks.h"

#include <algorithm>

namespace orrery {

MarkTable::MarkTable(const Program& program) : program_(program) {
  for (const Role& role : program.roles()) {
    const auto tasks = static_cast<size_t>(role.task_count());
    std::vector<const Mark*> marks(tasks);
    // Tasks between two that have the same entry have it too.
    constexpr size_t kStretch = 8;
    for (size_t begin = 0; begin < tasks; begin += kStretch) {
      const size_t end = std::min(begin + kStretch, tasks);
      const auto mark = [&](size_t task) {
        return &role.mark(static_cast<TaskId>(task));
      };
      marks[begin] = mark(begin);
      marks[end - 1] = mark(end - 1);
      const bool alike = marks[begin] == marks[end - 1];
      for (size_t task = begin + 1; task + 1 < end; ++task) {
        marks[task] = alike ? marks[begin] : mark(task);
      }
    }
    marks_.Add(std::move(marks));
  }
}

}  // namespace orrery
