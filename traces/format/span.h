#pragma once
// TaskSpan: the life of one task on one rank, as the engine saw it.
//
//   headed    it came to the head of its stream (the task before it ended)
//   ready     its dependencies were met as well
//   started   its partners were there as well, and it began to run
//   ended
//
// So a stream's time falls into three parts per task: [headed, ready) waiting
// for dependencies, [ready, started) waiting for partners, [started, ended)
// running. `release` tells who made it start: what to follow back on the
// critical path.
//
// A sink is anything with Add(const TaskSpan&). Spans come in the order in
// which tasks end, ties by content.
#include <cstdint>

#include "base/simulation_ids.h"
#include "base/units.h"

namespace orrery {

enum class SpanKind : uint8_t {
  kKernel,
  kCollective,
  kSend,
  kReceive,
  kMarker
};

struct Release {
  enum class By : uint8_t {
    kBeginning,   // nothing: the first of its stream, at the beginning
    kStream,      // the task before it in its stream
    kDependency,  // the stream `index` of the same rank, by a task it waited
                  // for
    kPartner,     // the rank `index`, the last to arrive at the same call
  };
  By by = By::kBeginning;
  int32_t index = 0;
  friend bool operator==(const Release&, const Release&) = default;
};

struct TaskSpan {
  RankId rank{};
  StreamId stream{};
  TaskId task{};
  NameId name{};
  SpanKind kind = SpanKind::kMarker;
  Release release;
  Time headed{};
  Time ready{};
  Time started{};
  Time ended{};

  Duration waiting_for_dependencies() const { return ready - headed; }
  Duration waiting_for_partners() const { return started - ready; }
  Duration running() const { return ended - started; }
  // Whether it waits or runs in [from, to).
  bool Touches(Time from, Time to) const { return headed < to && ended > from; }
  friend bool operator==(const TaskSpan&, const TaskSpan&) = default;
};

template <class S>
concept SpanSink = requires(S& sink, const TaskSpan& span) {
  sink.Add(span);
};

}  // namespace orrery
