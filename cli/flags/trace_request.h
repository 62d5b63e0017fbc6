#pragma once
// What the user asked to see of a run: the --trace flags.
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/flags/command.h"
#include "traces/timeline/timeline_selection.h"
#include "workload/program/program.h"

namespace orrery {

enum class TraceFormat { kPerfetto, kKineto };

struct TraceRequest {
  std::string path;  // a file, or for Kineto a folder
  TraceFormat format = TraceFormat::kPerfetto;
  // First and last of each range, as the user numbers ranks; nothing: one rank
  // per role.
  std::optional<std::vector<std::pair<int32_t, int32_t>>> ranks;
  Time from{};
  Time to = Time::max();
  TimelineDetail detail = TimelineDetail::kOp;
};

// --trace, --trace-format, --trace-ranks, --trace-window, --trace-detail.
std::vector<Flag> TraceFlags();
// Those of a command that simulates a step and can draw it.
std::vector<Flag> TracedRunFlags();

// An error if --trace names no file of its own.
absl::Status CheckTracePath(const Arguments& arguments);

// Nothing if there is no --trace. The error says what would be legal.
absl::StatusOr<std::optional<TraceRequest>> ReadTraceRequest(
    const Arguments& arguments);

// The request for a program: ranks by their ids. Refuses ranks that are not
// simulated, and says which are.
absl::StatusOr<TimelineOptions> OptionsFor(const TraceRequest& request,
                                           const Program& program);

}  // namespace orrery
