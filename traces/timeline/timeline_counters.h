#pragma once
// Counters of a rank in a timeline: memory in use by kind, and how busy its
// compute stream is. Each ends with a value where the window ends.
#include "base/ids.h"
#include "base/units.h"
#include "traces/format/perfetto_writer.h"
#include "traces/timeline/timeline_selection.h"
#include "traces/timeline/timeline_source.h"

namespace orrery {

// In GiB, as in reports, below `parent`:
//   memory              all that is held, with what libraries keep
//   memory capacity     a line: what the chip has
//   memory: libraries   stacked: each with all that stand above it, so that the
//   memory: + weights     last is what is held in all
//   memory: + gradients, ...
// Within an instant what ends gives back before what starts takes, as in the
// engine.
void WriteMemoryCounters(const TimelineSource& source,
                         const TimelineSelection& selection, RankId rank,
                         TrackId parent, PerfettoWriter& writer);

// "compute busy": the share of each of 200 equal parts of the window in which a
// kernel ran.
void WriteBusyCounter(const TimelineSource& source,
                      const TimelineSelection& selection, RankId rank,
                      TrackId parent, PerfettoWriter& writer);

// A value of a counter; old viewers fail on one at time 0 exactly.
void CountAt(PerfettoWriter& writer, TrackId counter, Time at, double value);

}  // namespace orrery
