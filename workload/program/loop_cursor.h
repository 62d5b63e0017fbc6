#pragma once
// LoopCursor: where a stream of a rank stands in its list of tasks, the turns
// of its loop included. What it takes to move on does not depend on them.
#include <cstdint>

#include "base/ids.h"
#include "base/simulation_ids.h"
#include "workload/program/program.h"

namespace orrery {

// No place of a role.
inline constexpr PlaceId kNoPlace{-1};

struct LoopCursor {
  TaskId next{};            // the task at the head; all before it are done
  PlaceId place{};          // where it is kept
  PlaceId wrap = kNoPlace;  // where the loop goes back, while it is to come
  int32_t turn = 0;         // of the loop, while in it

  static LoopCursor AtBeginning(const Role& role, StreamId stream) {
    LoopCursor cursor{.next = role.stream_begin(stream),
                      .place = role.place_begin(stream)};
    const RoleLoop::Body& body = role.loop().bodies[Index(stream)];
    if (role.loop().turns > 1 && body.length > 0) cursor.wrap = body.end();
    return cursor;
  }

  // The head is done: on to the next task, in the next turn of the loop if this
  // was the last of one.
  void MoveOn(const RoleLoop& loop, StreamId stream) {
    next = static_cast<TaskId>(static_cast<int32_t>(next) + 1);
    place = static_cast<PlaceId>(static_cast<int32_t>(place) + 1);
    if (place != wrap) return;
    if (++turn < loop.turns) {
      place = loop.bodies[Index(stream)].begin;
    } else {
      turn = 0;
      wrap = kNoPlace;
    }
  }
};

}  // namespace orrery
