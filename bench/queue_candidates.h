#pragma once
// The queues that were weighed against sim/engine/event_queue.h, behind its
// interface: Schedule (or move) an event, pop a whole instant in order.
#include <algorithm>
#include <boost/heap/d_ary_heap.hpp>
#include <boost/heap/fibonacci_heap.hpp>
#include <boost/heap/pairing_heap.hpp>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "sim/engine/event_queue.h"

namespace orrery {

struct QueueEntry {
  Time at;
  Event event;
  friend auto operator<=>(const QueueEntry&, const QueueEntry&) = default;
};

// A heap of Boost.Heap with a handle per event.
template <class Heap>
class HandleQueue {
 public:
  explicit HandleQueue(size_t events) : handles_(events) {}
  void Schedule(Event event, Time at) {
    std::optional<Handle>& handle = handles_[event.index()];
    if (handle.has_value()) {
      heap_.update(*handle, {at, event});
    } else {
      handle = heap_.push({at, event});
    }
  }
  bool empty() const { return heap_.empty(); }
  Time PopInstant(std::vector<Event>& events) {
    events.clear();
    const Time now = heap_.top().at;
    while (!heap_.empty() && heap_.top().at == now) {
      events.push_back(heap_.top().event);
      handles_[events.back().index()].reset();
      heap_.pop();
    }
    return now;
  }

 private:
  using Handle = typename Heap::handle_type;
  Heap heap_;
  std::vector<std::optional<Handle>> handles_;
};

template <int kArity>
using DaryQueue = HandleQueue<boost::heap::d_ary_heap<
    QueueEntry, boost::heap::arity<kArity>, boost::heap::mutable_<true>,
    boost::heap::compare<std::greater<QueueEntry>>>>;
using PairingQueue = HandleQueue<boost::heap::pairing_heap<
    QueueEntry, boost::heap::compare<std::greater<QueueEntry>>>>;
using FibonacciQueue = HandleQueue<boost::heap::fibonacci_heap<
    QueueEntry, boost::heap::compare<std::greater<QueueEntry>>>>;

// std::priority_queue; a moved event leaves its old entry behind.
class LazyQueue {
 public:
  explicit LazyQueue(size_t events) : due_(events, Time::min()) {}
  void Schedule(Event event, Time at) {
    Time& due = due_[event.index()];
    if (due == Time::min()) ++pending_;
    due = at;
    heap_.push({at, event});
  }
  bool empty() const { return pending_ == 0; }
  Time PopInstant(std::vector<Event>& events) {
    events.clear();
    Time now{};
    while (!heap_.empty() && (events.empty() || heap_.top().at == now)) {
      const QueueEntry top = heap_.top();
      heap_.pop();
      Time& due = due_[top.event.index()];
      if (due != top.at) continue;
      due = Time::min();
      --pending_;
      now = top.at;
      events.push_back(top.event);
    }
    return now;
  }

 private:
  std::priority_queue<QueueEntry, std::vector<QueueEntry>, std::greater<>>
      heap_;
  std::vector<Time> due_;
  size_t pending_ = 0;
};

// The queue in production.
class RadixQueue : public EventQueue {
 public:
  explicit RadixQueue(size_t events) { Grow(EventPhase::kKernel, events); }
};

}  // namespace orrery
