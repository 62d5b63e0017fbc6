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

// Against an ordered set, with many moves, so that old entries are dropped.
TYPED_TEST(EventQueueTest, AgreesWithAnOrderedSet) {
  Rng rng(1, "event queue");
  TypeParam& queue = this->queue_;
  std::map<Event, Time> due;
  std::set<std::pair<Time, Event>> reference;
  Time now{};
  std::vector<Event> events;
  for (int round = 0; round < 20'000; ++round) {
    for (uint64_t k = rng.Below(12); k > 0; --k) {
      const Event event(rng.Below(2) == 0 ? kKernel : kTransfer,
                        static_cast<uint32_t>(rng.Below(kEvents)));
      if (const auto old = due.find(event); old != due.end()) {
        reference.erase({old->second, event});
        due.erase(old);
        if (rng.Below(8) == 0) {
          queue.Cancel(event);
          continue;
        }
      }
      // Near and far, with many ties.
      const auto far =
          static_cast<int64_t>(rng.Below(uint64_t{1} << rng.Below(40)));
      due[event] = now + Duration(far);
      reference.insert({due[event], event});
      queue.Schedule(event, due[event]);
    }
    ASSERT_EQ(queue.size(), reference.size());
    if (reference.empty()) continue;
    now = reference.begin()->first;
    std::vector<Event> expected;
    while (!reference.empty() && reference.begin()->first == now) {
      expected.push_back(reference.begin()->second);
      due.erase(expected.back());
      reference.erase(reference.begin());
    }
    ASSERT_EQ(queue.PopInstant(events), now);
    ASSERT_EQ(events, expected);
  }
}

}  // namespace
}  // namespace orrery
