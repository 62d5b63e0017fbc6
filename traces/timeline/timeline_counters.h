#pragma once
// Counters of a timeline: memory in use by kind, how busy the compute streams
// are, how loaded the links are. Each ends with a value at the end of the run.
#include <absl/types/span.h>

#include <map>
#include <string>

#include "base/ids.h"
#include "sim/analysis/span_index.h"
#include "sim/sharing/transfer_log.h"
#include "sim/sharing/transfer_plan.h"
#include "traces/format/perfetto_writer.h"
#include "workload/program/program.h"

namespace orrery {

// "memory" (the total) and one counter per kind in use, below `parent`. Within
// an instant what ends gives back before what starts takes, as in the engine.
void WriteMemoryCounters(const Program& program, const SpanIndex& spans,
                         RankId rank, TrackId parent, Time end,
                         PerfettoWriter& writer);

// "compute busy": the share of each of 200 equal parts of the run in which a
// kernel ran.
void WriteBusyCounter(const Program& program, const SpanIndex& spans,
                      RankId rank, TrackId parent, Time end,
                      PerfettoWriter& writer);

// One counter per link that calls of the shown ranks use, the most loaded first
// and at most kMostLinks: percent of its capacity, all ranks' calls counted, as
// the engine granted it: never above 100, and the area under the counter is
// what the link carried. Links of chips and NICs stand below "network", links
// between switches below "fabric", both below `parent`.
inline constexpr size_t kMostLinks = 64;
void WriteLinkLoads(const Program& program, absl::Span<const TaskSpan> spans,
                    absl::Span<const RankId> ranks, const Transfers& transfers,
                    const TransferLog& log, TrackId parent, Time end,
                    PerfettoWriter& writer);

// Where a load, in percent, rises or falls, and by how much.
using LoadChanges = std::map<Time, double>;

// A counter of a load that begins at nothing; it ends with a 0 at `end`.
void WriteLoadCounter(const std::string& name, const LoadChanges& changes,
                      TrackId parent, Time end, PerfettoWriter& writer);

}  // namespace orrery
