#pragma once
// Between which times a simulated step must lie.
//
// No run is shorter than the longest path through its graph with everything to
// itself, or than its busiest chip or link needs for what the calls put on it;
// none is longer than the longest path with the worst sharing, or than
// everything one after the other. All of it follows from the program and the
// plans of its calls; the engine has no part in it. A run outside is a bug.
#include <optional>

#include "base/units.h"
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

// The longest paths of a program, or of one like it (path_bound.h).
struct PathBounds {
  Duration longest{};
  std::optional<Duration> slowest = std::nullopt;
};

StepBounds BoundsOf(const PlacedProgram& placed, const Transfers& transfers,
                    const PathBounds& paths);

}  // namespace orrery
