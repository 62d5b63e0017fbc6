#pragma once
// A routed schedule message by message: one flow each, started when both of its
// ends are ready.
//
// A participant is ready for a phase when the messages it sent or received in
// the phase before are done. A phase that streams starts with the one before
// it, its messages later by the latencies before them.
//
// A message that repeats, as in a ring, is a channel: its bytes follow those of
// the repetition before, and its latency passes from when its source has what
// it received in the repetition before. So a chunk meets the latency of every
// hop in turn, while a slow hop is busy all the time.
//
// In a pipeline every message, repeated or not, is a channel of segments, each
// with a latency that passes beside the bytes of the one before. Of its
// segments the first goes through all phases and the last does; between them
// are all others, which follow the first as one.
//
// Repetitions of a round that are alike, a few at either end apart, are one
// loop of the plan: its length is that of the schedule, however often its
// messages are sent.
#include <absl/status/statusor.h>

#include "sim/network/collective_plan.h"
#include "sim/network/routed_schedule.h"

namespace orrery {

// Refuses schedules of more than kMostSteppedMessages messages.
inline constexpr int64_t kMostSteppedMessages = 4'000'000;

absl::StatusOr<PlanSteps> SteppedPlan(const RoutedSchedule& routed,
                                      const ProtocolPair& protocols,
                                      double bytes, Duration before);

}  // namespace orrery
