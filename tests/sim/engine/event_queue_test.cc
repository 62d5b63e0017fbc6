#include "sim/engine/event_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "tests/sim/engine/event_queues.h"

namespace orrery {
namespace {

using testing::ElementsAre;

constexpr EventPhase kKernel = EventPhase::kKernel;
constexpr EventPhase kTransfer = EventPhase::kTransfer;

Time At(int64_t picoseconds) { return Time(Duration(picoseconds)); }

// An empty queue with room for kEvents of each phase.
constexpr uint32_t kEvents = 500;
template <class Queue>
class EventQueueTest : public testing::Test {
 protected:
  EventQueueTest() {
    queue_.Grow(kKernel, kEvents);
    queue_.Grow(kTransfer, kEvents);
  }
  Queue queue_;
};
TYPED_TEST_SUITE(EventQueueTest, EventQueues, EventQueueNames);

TYPED_TEST(EventQueueTest, PopsAnInstantWholeByPhaseThenIndex) {
  TypeParam& queue = this->queue_;
  queue.Schedule({kTransfer, 1}, At(5));
  queue.Schedule({kKernel, 9}, At(5));
  queue.Schedule({kKernel, 2}, At(5));
  queue.Schedule({kKernel, 3}, At(6));
  std::vector<Event> events;
  EXPECT_EQ(queue.PopInstant(events), At(5));
  EXPECT_THAT(events, ElementsAre(Event(kKernel, 2), Event(kKernel, 9),
                                  Event(kTransfer, 1)));
  EXPECT_EQ(queue.PopInstant(events), At(6));
  EXPECT_THAT(events, ElementsAre(Event(kKernel, 3)));
  EXPECT_TRUE(queue.empty());
}

TYPED_TEST(EventQueueTest, SchedulingAgainMoves) {
  TypeParam& queue = this->queue_;
  queue.Schedule({kKernel, 0}, At(10));
  queue.Schedule({kKernel, 1}, At(20));
  queue.Schedule({kKernel, 0}, At(30));
  queue.Schedule({kKernel, 1}, At(15));
  EXPECT_EQ(queue.size(), 2u);
  std::vector<Event> events;
  EXPECT_EQ(queue.PopInstant(events), At(15));
  EXPECT_THAT(events, ElementsAre(Event(kKernel, 1)));
  EXPECT_EQ(queue.PopInstant(events), At(30));
  EXPECT_THAT(events, ElementsAre(Event(kKernel, 0)));
  EXPECT_TRUE(queue.empty());
}

TYPED_TEST(EventQueueTest, AwayAndBackHappensOnce) {
  TypeParam& queue = this->queue_;
  queue.Schedule({kKernel, 0}, At(10));
  queue.Schedule({kKernel, 0}, At(20));
  queue.Schedule({kKernel, 0}, At(10));
  std::vector<Event> events;
  EXPECT_EQ(queue.PopInstant(events), At(10));
  EXPECT_THAT(events, ElementsAre(Event(kKernel, 0)));
  EXPECT_TRUE(queue.empty());
}

TYPED_TEST(EventQueueTest, TheSameInstantCanBePoppedAgain) {
  TypeParam& queue = this->queue_;
  queue.Schedule({kKernel, 0}, At(10));
  std::vector<Event> events;
  EXPECT_EQ(queue.PopInstant(events), At(10));
  queue.Schedule({kKernel, 1}, At(10));
  EXPECT_EQ(queue.PopInstant(events), At(10));
  EXPECT_THAT(events, ElementsAre(Event(kKernel, 1)));
}

TYPED_TEST(EventQueueTest, CancelledEventsNeverHappen) {
  TypeParam& queue = this->queue_;
  queue.Schedule({kKernel, 0}, At(10));
  queue.Schedule({kKernel, 1}, At(11));
  queue.Cancel({kKernel, 0});
  queue.Cancel({kKernel, 2});
  EXPECT_EQ(queue.size(), 1u);
  std::vector<Event> events;
  EXPECT_EQ(queue.PopInstant(events), At(11));
  EXPECT_TRUE(queue.empty());
}

TYPED_TEST(EventQueueTest, ReachesTheEndOfTime) {
  TypeParam& queue = this->queue_;
  queue.Schedule({kKernel, 0}, Time::max());
  queue.Schedule({kKernel, 1}, At(0));
  std::vector<Event> events;
  EXPECT_EQ(queue.PopInstant(events), At(0));
  EXPECT_EQ(queue.PopInstant(events), Time::max());
}

// A queue beside an ordered set that is told the same.
template <class Queue>
class CheckedQueue {
 public:
  explicit CheckedQueue(Queue& queue) : queue_(queue) {}

  Time now() const { return now_; }
  void Schedule(Event event, Time at) {
    Forget(event);
    due_[event] = at;
    reference_.insert({at, event});
    queue_.Schedule(event, at);
  }
  void Cancel(Event event) {
    Forget(event);
    queue_.Cancel(event);
  }
  bool Has(Event event) const { return due_.contains(event); }

  void PopAndCompare() {
    ASSERT_EQ(queue_.size(), reference_.size());
    if (reference_.empty()) return;
    now_ = reference_.begin()->first;
    std::vector<Event> expected;
    while (!reference_.empty() && reference_.begin()->first == now_) {
      expected.push_back(reference_.begin()->second);
      due_.erase(expected.back());
      reference_.erase(reference_.begin());
    }
    ASSERT_EQ(queue_.PopInstant(events_), now_);
    ASSERT_EQ(events_, expected);
  }

 private:
  void Forget(Event event) {
    const auto old = due_.find(event);
    if (old == due_.end()) return;
    reference_.erase({old->second, event});
    due_.erase(old);
  }

  Queue& queue_;
  std::map<Event, Time> due_;
  std::set<std::pair<Time, Event>> reference_;
  Time now_{};
  std::vector<Event> events_;
};

// With many moves, so that old entries are dropped.
TYPED_TEST(EventQueueTest, AgreesWithAnOrderedSet) {
  Rng rng(1, "event queue");
  CheckedQueue queue(this->queue_);
  for (int round = 0; round < 20'000; ++round) {
    for (uint64_t k = rng.Below(12); k > 0; --k) {
      const Event event(rng.Below(2) == 0 ? kKernel : kTransfer,
                        static_cast<uint32_t>(rng.Below(kEvents)));
      if (queue.Has(event) && rng.Below(8) == 0) {
        queue.Cancel(event);
        continue;
      }
      // Near and far, with many ties.
      const auto far =
          static_cast<int64_t>(rng.Below(uint64_t{1} << rng.Below(40)));
      queue.Schedule(event, queue.now() + Duration(far));
    }
    ASSERT_NO_FATAL_FAILURE(queue.PopAndCompare());
  }
}

// Ranks in step: events as far apart as each other for one time, of which some
// are moved, also away and back, and some never happen.
TYPED_TEST(EventQueueTest, AgreesWithAnOrderedSetInStep) {
  Rng rng(2, "event queue");
  CheckedQueue queue(this->queue_);
  for (int round = 0; round < 5'000; ++round) {
    for (uint64_t runs = rng.Below(4); runs > 0; --runs) {
      const EventPhase phase = rng.Below(3) > 0 ? kKernel : kTransfer;
      const auto gap = static_cast<uint32_t>(1 + rng.Below(9));
      const auto first = static_cast<uint32_t>(rng.Below(kEvents));
      const auto last = static_cast<uint32_t>(first + rng.Below(40) * gap);
      const Time at = queue.now() + Duration(static_cast<int64_t>(rng.Below(
                                        uint64_t{1} << rng.Below(24))));
      for (uint32_t i = first; i <= last && i < kEvents; i += gap) {
        const Event event(phase, i);
        const uint64_t what = rng.Below(64);
        if (what == 0) {
          queue.Cancel(event);
        } else if (what == 1) {
          queue.Schedule(event, at + Duration(7));
        } else {
          queue.Schedule(event, at);
        }
        if (what == 2) {
          queue.Schedule(event, at + Duration(9));
          queue.Schedule(event, at);
        } else if (what == 3) {
          queue.Cancel(event);
          queue.Schedule(event, at);
        }
      }
    }
    ASSERT_NO_FATAL_FAILURE(queue.PopAndCompare());
  }
}

}  // namespace
}  // namespace orrery
