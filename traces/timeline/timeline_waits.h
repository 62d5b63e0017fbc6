#pragma once
// The waits of a rank's compute stream as slices: what for, in words.
//
// The same parts as the breakdown of the rank (step_breakdown.h), so that the
// sums of both are the same to the picosecond:
//
//   tensor           a call of the rank's own stream is exposed
//   host             the host has not started the kernel
//   rank 16: B3      another rank's pass, or the communication
//   rank 16: data      it was in
//   other ranks      no work explains it
#include <absl/types/span.h>

#include <optional>
#include <string>
#include <vector>

#include "base/simulation_ids.h"
#include "base/units.h"
#include "sim/analysis/step_breakdown.h"
#include "traces/timeline/timeline_passes.h"
#include "traces/timeline/timeline_source.h"

namespace orrery {

struct WaitSlice {
  std::string name;
  RankWait::Kind kind{};
  Time from{};
  Time to{};
  std::optional<TaskId> waiter;  // what could not start
};

// In the order of time, neighbours of the same name as one. Requires: `waits`
// of one rank, finished.
std::vector<WaitSlice> WaitSlices(const TimelineSource& source,
                                  const PassTable& passes,
                                  absl::Span<const RankWait> waits);

}  // namespace orrery
