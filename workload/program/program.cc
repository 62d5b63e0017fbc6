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

LoopPlace Role::Find(StreamId stream, TaskId task) const {
  const int32_t first = static_cast<int32_t>(place_begin_[Index(stream)]);
  const int32_t at = static_cast<int32_t>(task) -
                     static_cast<int32_t>(stream_begin_[Index(stream)]) + first;
  const RoleLoop::Body& body = loop_.bodies[Index(stream)];
  const auto begin = static_cast<int32_t>(body.begin);
  if (at < begin || body.length == 0) return {static_cast<PlaceId>(at), 0};
  const int32_t turn = (at - begin) / body.length;
  if (turn < loop_.turns) {
    return {static_cast<PlaceId>(at - turn * body.length), turn};
  }
  return {static_cast<PlaceId>(at - (loop_.turns - 1) * body.length), 0};
}

int32_t Role::times(PlaceId p) const {
  if (loop_.turns == 1) return 1;
  const auto is_there = [p](const RoleLoop::Body& body) { return body.Has(p); };
  return std::any_of(loop_.bodies.begin(), loop_.bodies.end(), is_there)
             ? loop_.turns
             : 1;
}

const Mark& Role::mark(TaskId task) const {
  const auto after = std::upper_bound(
      marks_.begin(), marks_.end(), place_of(task),
      [](PlaceId p, const MarkedRun& run) { return p < run.first; });
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
