#pragma once
// The timeline of a run: everything that happened, laid out for a viewer.
//
//   cluster
//     critical path           what made the run as long as it is
//     node 0
//       rank 0 (stage 0)      see timeline_rank.h
//         memory, compute busy
//     network               links of chips and NICs
//       ... load
//     fabric                links between switches
//       ... load
//
// Arrows lead from what made a task start to the task, where the two are on
// different tracks: a dependency, a send to its receive, the work of the rank
// that came last to a collective.
#include <absl/status/status.h>
#include <absl/types/span.h>

#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "sim/analysis/critical_path.h"
#include "sim/analysis/span_index.h"
#include "sim/sharing/transfer_log.h"
#include "sim/sharing/transfer_plan.h"
#include "traces/format/perfetto_writer.h"
#include "traces/timeline/timeline_selection.h"
#include "workload/model/op.h"
#include "workload/program/program.h"

namespace orrery {

// What a timeline is drawn from. All of it outlives the call.
struct TimelineSource {
  const Program& program;
  const SpanIndex& spans;
  const std::vector<PathStep>& path;
  const Transfers& transfers;
  const TransferLog& log;
  // What the facts of kernels refer to.
  const IdVector<OpId, Op>& ops;
  const GroupSizes& group_sizes;
  // Ranks (numbers, not ids) that share a node; 0: unknown.
  int32_t ranks_per_node = 0;
  // What was simulated, for the tooltip of the cluster.
  std::string description = {};
};

// Requires: `options.ranks` in ascending order.
void WriteTimeline(const TimelineSource& source, const TimelineOptions& options,
                   PerfettoWriter& writer);

}  // namespace orrery
