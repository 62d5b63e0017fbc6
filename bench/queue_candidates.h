#pragma once
// Queues that were weighed beside the two of the product (sim/engine:
// RadixEventQueue, HeapEventQueue), as far as the benchmark asks.
#include <boost/heap/fibonacci_heap.hpp>
#include <boost/heap/pairing_heap.hpp>
#include <functional>
#include <queue>
#include <vector>

#include "sim/engine/heap_event_queue.h"

namespace orrery {

using PairingQueue = HandleEventQueue<boost::heap::pairing_heap<
    HeapEntry, boost::heap::compare<std::greater<HeapEntry>>>>;
using FibonacciQueue = HandleEventQueue<boost::heap::fibonacci_heap<
    HeapEntry, boost::heap::compare<std::greater<HeapEntry>>>>;

// std::priority_queue; a moved event leaves its old entry behind. For events of
// one phase.
class LazyQueue {
 public:
  void Grow(EventPhase, size_t count) { due_.resize(count, Time::min()); }
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
      const HeapEntry top = heap_.top();
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
  std::priority_queue<HeapEntry, std::vector<HeapEntry>, std::greater<>> heap_;
  std::vector<Time> due_;
  size_t pending_ = 0;
};

}  // namespace orrery
