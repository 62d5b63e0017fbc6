#pragma once
// The engine: replays a program over chips and links.
//
//   RecordingSink sink(program);
//   ASSIGN_OR_RETURN(const RunResult result,
//                    Simulate(program, transfers, {}, sink));
//
// Streams are FIFO. A task starts when it heads its stream, its dependencies
// are done and, for communication, every member of its group is there too; then
// all members run, and end, together. Kernels slow down while communication
// holds part of their chip (chip_sharing.h); transfers share links (sharing.h).
//
// An instant is processed whole: all that ends, then all that starts, in the
// order of ids, then rates are settled once. The spans that go to the sink, and
// the result, depend on the program's content alone: not on the order in which
// it was built, the build type, the event queue, or the machine.
//
// The user's mistakes come back as a status: a program that stalls (who waits
// for whom), time beyond the range of Time, a run that would not fit in memory
// (with the numbers, before anything is allocated), memory released that is not
// held.
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>

#include "base/ids.h"
#include "sim/engine/default_event_queue.h"
#include "sim/engine/engine_run.h"
#include "sim/engine/event_queue.h"
#include "sim/sharing/sharing.h"
#include "sim/sharing/transfer_plan.h"
#include "traces/format/span.h"
#include "workload/program/program.h"

namespace orrery {

template <EventQueue Queue = DefaultEventQueue, SpanSink Sink>
absl::StatusOr<RunResult> Simulate(const Program& program,
                                   const Transfers& transfers,
                                   const EngineOptions& options, Sink& sink) {
  if (absl::Status status =
          CheckRun(program, transfers, options, Queue::kBytesPerEvent);
      !status.ok()) {
    return status;
  }
  if constexpr (requires { sink.Expect(program); }) {
    if (absl::Status status = sink.Expect(program); !status.ok()) return status;
  }
  return EngineRun<Queue, Sink>(program, transfers, options, sink).Run();
}

}  // namespace orrery
