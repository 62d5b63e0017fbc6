#pragma once
// DefaultEventQueue: the event queue of this build, RadixEventQueue unless
// CMake was told -DORRERY_EVENT_QUEUE=heap.
//
// The choice changes no result, only speed.
#ifdef ORRERY_HEAP_EVENT_QUEUE
#include "sim/engine/heap_event_queue.h"
#else
#include "sim/engine/radix_event_queue.h"
#endif

namespace orrery {

#ifdef ORRERY_HEAP_EVENT_QUEUE
using DefaultEventQueue = HeapEventQueue;
#else
using DefaultEventQueue = RadixEventQueue;
#endif

}  // namespace orrery
