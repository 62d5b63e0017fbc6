#pragma once
// EventQueue: what happens next, in an order that depends on content alone.
//
// An event is a phase and an index. Each event is pending at most once; to
// schedule it again moves it, which is what a change of rate needs. Events
// leave in the order (time, phase, index), a whole instant at a time, and never
// depend on the order in which they came.
//
//   DefaultEventQueue queue;
//   queue.Grow(EventPhase::kKernel, streams);
//   queue.Schedule({EventPhase::kKernel, 7}, now + duration);
//   const Time now = queue.PopInstant(events);
//
// There are two: RadixEventQueue, a radix heap, and HeapEventQueue, a d-ary
// heap of Boost.Heap with mutable handles. The engine runs on either, with the
// same result; default_event_queue.h names the one of this build. Both, and
// what else was weighed, are measured in bench/event_queue_bench.cc; the
// figures are in docs/performance.md.
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace orrery {

// Within one instant kernels end, then transfers move on.
enum class EventPhase : uint8_t { kKernel, kTransfer };
inline constexpr int kEventPhases = 2;

class Event {
 public:
  // Indices beyond this are refused by Grow.
  static constexpr uint32_t kMaxIndex = (uint32_t{1} << 30) - 1;

  Event() = default;
  Event(EventPhase phase, uint32_t index)
      : code_(static_cast<uint32_t>(phase) << 30 | index) {}
  EventPhase phase() const { return static_cast<EventPhase>(code_ >> 30); }
  uint32_t index() const { return code_ & kMaxIndex; }
  friend auto operator<=>(Event, Event) = default;
  // That of the same phase so many indices on.
  Event operator+(uint32_t indices) const {
    Event event = *this;
    event.code_ += indices;
    return event;
  }
  // How many indices lie between. Requires: the same phase, and not before it.
  uint32_t operator-(Event other) const { return code_ - other.code_; }

 private:
  uint32_t code_ = 0;
};

// What a queue does:
//   Grow(phase, count)   makes room for indices below `count`.
//                        Requires: count <= Event::kMaxIndex + 1.
//   Schedule(event, at)  adds the event, or moves it if it is pending.
//                        Requires: `at` is not before the last instant popped.
//   Cancel(event)        does nothing if the event is not pending.
//   PopInstant(events)   the earliest pending instant, all of whose events
//                        become `events`, in order. Requires: !empty().
//   kBytesPerEvent       the memory an event takes, pending or not.
template <class Q>
concept EventQueue = std::default_initializable<Q> &&
    requires(Q& queue, const Q& seen, EventPhase phase, size_t count,
             Event event, Time at, std::vector<Event>& events) {
  queue.Grow(phase, count);
  queue.Schedule(event, at);
  queue.Cancel(event);
  { seen.empty() } -> std::same_as<bool>;
  { seen.size() } -> std::same_as<size_t>;
  { queue.PopInstant(events) } -> std::same_as<Time>;
  { Q::kBytesPerEvent } -> std::convertible_to<size_t>;
};

}  // namespace orrery
