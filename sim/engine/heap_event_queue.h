#pragma once
// HeapEventQueue: an event queue (event_queue.h says what that promises) on a
// mutable d-ary heap of Boost.Heap.
//
// Every pending event has a handle, by which its entry is moved or taken out in
// O(log n). It keeps no stale entries, so its memory never exceeds what is
// pending at most. Four children to a node is the fastest arity below ten
// thousand pending events, and near the fastest above (docs/performance.md).
//
// HandleEventQueue is the same over any heap of Boost.Heap that has handles.
#include <array>
#include <boost/heap/d_ary_heap.hpp>
#include <compare>
#include <functional>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "sim/engine/event_queue.h"

namespace orrery {

struct HeapEntry {
  Time at;
  Event event;
  friend auto operator<=>(const HeapEntry&, const HeapEntry&) = default;
};

template <class Heap>
class HandleEventQueue {
 public:
  // A node of the heap's list (two links, the entry, its place; as the
  // allocator rounds it), twice its pointer in the heap's vector, its handle.
  static constexpr size_t kBytesPerEvent = 48 + 2 * 8 + 16;

  HandleEventQueue() = default;
  // A handle points into its heap.
  HandleEventQueue(const HandleEventQueue&) = delete;
  HandleEventQueue& operator=(const HandleEventQueue&) = delete;

  void Grow(EventPhase phase, size_t count) {
    CHECK(count <= size_t{Event::kMaxIndex} + 1) << count << " events";
    std::vector<Handle>& handles = handles_[static_cast<size_t>(phase)];
    if (count > handles.size()) handles.resize(count);
  }
  void Schedule(Event event, Time at) {
    Handle& handle = HandleOf(event);
    if (!handle.has_value()) {
      handle = heap_.push({at, event});
    } else if ((**handle).at != at) {
      heap_.update(*handle, {at, event});
    }
  }
  void Cancel(Event event) {
    Handle& handle = HandleOf(event);
    if (!handle.has_value()) return;
    heap_.erase(*handle);
    handle.reset();
  }
  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  Time PopInstant(std::vector<Event>& events) {
    CHECK(!empty());
    events.clear();
    const Time now = heap_.top().at;
    while (!heap_.empty() && heap_.top().at == now) {
      events.push_back(heap_.top().event);
      HandleOf(events.back()).reset();
      heap_.pop();
    }
    return now;
  }

 private:
  using Handle =
      std::optional<typename Heap::handle_type>;  // none: not pending

  Handle& HandleOf(Event event) {
    return handles_[static_cast<size_t>(event.phase())][event.index()];
  }

  Heap heap_;
  std::array<std::vector<Handle>, kEventPhases> handles_;
};

template <int kArity>
using DaryEventQueue = HandleEventQueue<boost::heap::d_ary_heap<
    HeapEntry, boost::heap::arity<kArity>, boost::heap::mutable_<true>,
    boost::heap::compare<std::greater<HeapEntry>>>>;
using HeapEventQueue = DaryEventQueue<4>;

static_assert(EventQueue<HeapEventQueue>);

}  // namespace orrery
