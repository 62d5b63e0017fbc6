#pragma once
// Between which times a simulated step must lie.
//
// No run is shorter than the longest path through its graph with everything to
// itself, or than its busiest chip or link needs for what it carried; none is
// longer than everything one after the other. A run outside is a bug, and the
// caller must say so (`bounds.Hold(end)`).
#include "base/units.h"
#include "sim/engine/run_result.h"
#include "sim/sharing/transfer_plan.h"
#include "workload/program/placed_program.h"

namespace orrery {

struct StepBounds {
  Duration critical_path{};
  Duration busiest{};  // chip or link
  Duration upper{};
  Duration lower() const { return std::max(critical_path, busiest); }
  bool Hold(Time end) const {
    return end.time_since_epoch() >= lower() && end.time_since_epoch() <= upper;
  }
};

// `critical_path` is that of the program, or of one like it (see LongestPath).
StepBounds BoundsOf(const PlacedProgram& placed, const Transfers& transfers,
                    const RunResult& result, Duration critical_path);

}  // namespace orrery
