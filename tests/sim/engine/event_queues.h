#pragma once
// EventQueues: the queues that the engine's tests run on, each test on each.
//
//   template <class Queue>
//   class Engine : public testing::Test {};
//   TYPED_TEST_SUITE(Engine, EventQueues, EventQueueNames);
//   TYPED_TEST(Engine, DoesThis) { ... Simulate<TypeParam>(...) ... }
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "sim/engine/heap_event_queue.h"
#include "sim/engine/radix_event_queue.h"

namespace orrery {

using EventQueues = testing::Types<RadixEventQueue, HeapEventQueue>;

struct EventQueueNames {
  template <class Queue>
  static std::string GetName(int) {
    return std::is_same_v<Queue, RadixEventQueue> ? "Radix" : "Heap";
  }
};

}  // namespace orrery
