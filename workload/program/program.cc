#include "workload/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace orrery {

StreamId Role::stream_of(TaskId task) const {
  // The last stream that begins at or before the task; empty streams before it
  // begin at the same place, and the last of equals is the one that holds it.
  const auto after =
      std::upper_bound(stream_begin_.begin(), stream_begin_.end(), task);
  return static_cast<StreamId>(after - stream_begin_.begin() - 1);
}

const Mark& Role::mark(TaskId task) const {
  const auto after = std::upper_bound(
      marks_.begin(), marks_.end(), task,
      [](TaskId t, const MarkedRun& run) { return t < run.first; });
  return std::prev(after)->mark;
}

std::string Program::Describe(RankId rank, TaskId task) const {
  const Role& role = role_of(rank);
  return fmt::format("rank {} {}: '{}' (task {})", ranks_[rank].number,
                     streams_[role.stream_of(task)].name,
                     name(role.name_of(task)), static_cast<int32_t>(task));
}

std::string Program::Describe(GroupId id) const {
  return fmt::format("group {}[{}]", name(groups_[id].family),
                     groups_[id].index);
}

}  // namespace orrery
