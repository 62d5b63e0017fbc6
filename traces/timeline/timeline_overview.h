#pragma once
// The pipeline at a glance: one row per stage, its passes as in the papers'
// figures.
//
//   pipeline
//     stage 0    F0 F1 F2 B0 F3 B1 ...
//     stage 1       F0 F1 B0 F2 B1 ...
//
// One rank stands for its stage, the lowest of its role. What is not drawn is
// the bubble. Passes that run beside each other take two rows.
#include "traces/format/perfetto_writer.h"
#include "traces/timeline/timeline_arguments.h"
#include "traces/timeline/timeline_passes.h"
#include "traces/timeline/timeline_selection.h"
#include "traces/timeline/timeline_source.h"

namespace orrery {

// Requires: `passes` has those of one rank per role.
void WriteOverview(const TimelineSource& source,
                   const TimelineSelection& selection, const PassTable& passes,
                   TrackId parent, TimelineArguments& arguments,
                   PerfettoWriter& writer);

}  // namespace orrery
