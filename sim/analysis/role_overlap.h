#pragma once
// What can run beside the kernels of a role, whatever happens when.
//
// A call that a kernel needs, or that needs the kernel, directly or by way of
// other tasks of the rank, never runs beside it. What is left of each stream
// lies between the last task that is done before the kernel starts and the
// first that waits for its end. It follows from streams and dependencies alone.
//
// Of a loop the first and the last turns are looked at by themselves, and one
// that stands for all between.
//
// Cost: O((places + dependencies) * streams) time; beside the result, a row of
// numbers per task with dependencies.
#include <algorithm>
#include <array>
#include <vector>

#include "base/ids.h"
#include "workload/program/program.h"

namespace orrery {

// Turns that are looked at by themselves, at the beginning and at the end of a
// loop.
inline constexpr int32_t kTurnsAtEnds = 2;
inline constexpr int32_t kFewTurns = 2 * kTurnsAtEnds + 1;

// The same role with so few turns, each of which says what is true of one or
// more of those that it has; itself if it has no more.
class FewTurns {
 public:
  explicit FewTurns(const Role& role);

  // Its task that stands for one of the role, which is in `stream`.
  TaskId StandIn(StreamId stream, LoopPlace of) const;
  // Calls visit(TaskId, times) for all that stand for a task kept there.
  template <class Visit>
  void ForEachTurn(StreamId stream, PlaceId place, Visit visit) const {
    if (!loop_.bodies[Index(stream)].Has(place)) {
      visit(StandIn(stream, {place, 0}), int32_t{1});
      return;
    }
    const int32_t few = std::min(loop_.turns, kFewTurns);
    for (int32_t turn = 0; turn < few; ++turn) {
      const bool between = turn == kTurnsAtEnds;
      const int32_t real =
          turn <= kTurnsAtEnds ? turn : loop_.turns - few + turn;
      visit(StandIn(stream, {place, real}),
            between ? loop_.turns - few + 1 : int32_t{1});
    }
  }

 private:
  RoleLoop loop_;
  std::array<int32_t, kMaxStreams> begin_{};  // from places to tasks, by stream
};

struct RoleOverlap {
  // By task (FewTurns), of kernels: time at worst as a multiple of that alone,
  // beside all that can hold a part of the chip. Empty if one can be stopped.
  std::vector<double> at_worst;
  // The same beside collectives that only wait.
  std::vector<double> spinning;
  // Of all these, by how much collectives that wait stretch what is lost to
  // those that run.
  double most_spinning = 1;
  // By task, of calls: whether kernels can run beside it.
  std::vector<bool> beside_kernels;
  // Whether kernels of several streams share the chip.
  bool kernels_share = false;
};

RoleOverlap OverlapOf(const Role& role,
                      const IdVector<StreamId, Stream>& streams);

}  // namespace orrery
