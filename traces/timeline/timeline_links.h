#pragma once
// Counters of links in a timeline: how full they were, and what of that was
// payload.
//
//   NVLink4 out load       percent of the capacity that calls were granted:
//   what
//                          is on the wire, with what protocols add
//   NVLink4 out goodput    percent of the capacity that is bytes of the calls
//
// The area under a counter, times the capacity, is the bytes. Links of a shown
// rank stand below it, those of others below "network", those between switches
// below "fabric".
#include <map>
#include <string>

#include "base/units.h"
#include "traces/format/perfetto_writer.h"
#include "traces/timeline/timeline_selection.h"
#include "traces/timeline/timeline_source.h"

namespace orrery {

using RankTrackIds = std::map<int32_t, TrackId>;  // by number

// Of the links that calls of the shown ranks use, the most loaded, at most
// kMostLinks, in the order of ranks and switches; all ranks' calls are counted.
inline constexpr size_t kMostLinks = 64;
void WriteLinkLoads(const TimelineSource& source,
                    const TimelineSelection& selection,
                    const RankTrackIds& tracks, TrackId parent,
                    PerfettoWriter& writer);

// Where a load, in percent, rises or falls, and by how much.
using LoadChanges = std::map<Time, double>;

// A counter of a load that begins at nothing; it ends with a 0 at `end`.
void WriteLoadCounter(const std::string& name, const LoadChanges& changes,
                      TrackId parent, Time end, PerfettoWriter& writer);

}  // namespace orrery
