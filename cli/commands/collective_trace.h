#pragma once
// The timeline that `orrery collective --trace` asks for, if it does: one call
// after the other.
//
//   ASSIGN_OR_RETURN(CollectiveTrace trace,
//                    CollectiveTrace::Open(path, network, system.name()));
//   const Time end = RunPlans(capacities, plans, trace.log())[0];
//   trace.Add(call, planned, end);
//   RETURN_IF_ERROR(trace.Finish());   // says on stderr what was written
#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>

#include "traces/timeline/timeline_collective.h"

namespace orrery {

class CollectiveTrace {
 public:
  // Without a path nothing is recorded or written. The network must outlive it.
  static absl::StatusOr<CollectiveTrace> Open(
      const std::optional<std::string>& path, const Network& network,
      const std::string& system);

  // For the run of the next call; null if nothing is recorded.
  TransferLog* log() { return timeline_ ? &log_ : nullptr; }
  // Requires: the call was run with log().
  void Add(const CollectiveCall& call, const PlannedCall& planned, Time end);
  absl::Status Finish();

 private:
  CollectiveTrace() = default;

  std::string path_;
  std::unique_ptr<PerfettoWriter> writer_;
  std::optional<CollectiveTimeline> timeline_;
  TransferLog log_;
};

}  // namespace orrery
