#pragma once
// Replay: a run that must succeed, with all its spans.
#include <vector>

#include "base/check.h"
#include "sim/engine/engine.h"
#include "sim/engine/span_sinks.h"
#include "tests/sim/engine/programs_for_tests.h"

namespace orrery {

struct Replay {
  RunResult result;
  std::vector<TaskSpan> spans;

  // The span of the task at `position` of a stream.
  const TaskSpan& of(int32_t rank, StreamId stream, int32_t position) const {
    int32_t seen = 0;
    for (const TaskSpan& span : spans) {
      if (span.rank == RankId(rank) && span.stream == stream &&
          seen++ == position) {
        return span;
      }
    }
    CHECK(false) << "no such span";
    return spans.front();
  }
};

template <EventQueue Queue = DefaultEventQueue>
Replay ReplayOf(const Program& program, const Transfers& transfers) {
  RecordingSink sink;
  absl::StatusOr<RunResult> result =
      Simulate<Queue>(program, transfers, {}, sink);
  CHECK(result.ok()) << result.status().ToString();
  return {*std::move(result), sink.spans()};
}

inline Time At(Duration since_start) { return Time(since_start); }

}  // namespace orrery
