#pragma once
// What a timeline is drawn from.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "sim/analysis/critical_path.h"
#include "sim/analysis/span_index.h"
#include "sim/analysis/step_breakdown.h"
#include "sim/sharing/transfer_log.h"
#include "sim/sharing/transfer_plan.h"
#include "traces/timeline/timeline_selection.h"
#include "workload/model/op.h"
#include "workload/program/placed_group.h"
#include "workload/program/program.h"

namespace orrery {

// All of it outlives the timeline.
struct TimelineSource {
  const Program& program;
  const SpanIndex& spans;
  const std::vector<PathStep>& path;
  const Transfers& transfers;
  const TransferLog& log;
  // What the facts of kernels refer to.
  const IdVector<OpId, Op>& ops;
  const GroupSizes& group_sizes;
  // Groups as they are on the machine, by chips; null: as they are simulated.
  const IdVector<GroupId, PlacedGroup>* groups = nullptr;
  // Of the run; the last end of a span that was recorded, if it is not given.
  std::optional<Time> end = std::nullopt;
  // How long calls take with the network to themselves; null: unknown.
  const CallTimes* alone = nullptr;
  // Ranks (numbers, not ids) that share a node; 0: unknown.
  int32_t ranks_per_node = 0;
  // Whether ranks lie on chips in their order.
  bool ranks_are_chips = true;
  // What libraries hold beside the tensors of a rank, and what a chip has; 0:
  // unknown.
  Bytes reserved_memory = Bytes(0);
  Bytes memory_capacity = Bytes(0);
  // What the tasks before a recorded window left of each rank's memory; null or
  // empty: all tasks were recorded.
  const IdVector<RankId, MemoryByKind>* memory_before = nullptr;
  // The chip's arithmetic per second at a number format; nothing: unknown.
  std::function<std::optional<double>(DType)> peak = {};
  // Of the whole, and what was simulated, for its tooltip.
  std::string name = "cluster";
  std::string description = {};
};

}  // namespace orrery
