#pragma once
// A routed schedule message by message: one flow each, started when both of its
// ends are ready.
//
// A participant is ready for a repetition when the messages it sent or received
// in the repetition, or phase, before are done. A phase that streams starts
// with the one before it, its messages later by the latencies before them.
// Within a pipeline a message's bytes
// follow the bytes of the same message of the segment before, while its latency
// passes alongside.
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
