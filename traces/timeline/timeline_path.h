#pragma once
// The critical path as a track: which rank did what in which pass.
#include <cstdint>
#include <string>
#include <vector>

#include "traces/format/perfetto_writer.h"
#include "traces/timeline/timeline_arguments.h"
#include "traces/timeline/timeline_passes.h"
#include "traces/timeline/timeline_selection.h"
#include "traces/timeline/timeline_source.h"

namespace orrery {

// A part of the path that is drawn as one: a task, or where ops are not shown
// all that a rank does of a pass.
struct PathSlice {
  std::string name;                // "rank 16 B3: mlp_up dgrad", "rank 16 B3"
  const PathStep* step = nullptr;  // the first
  Time from{};
  Time to{};
};
std::vector<PathSlice> PathSlices(const TimelineSource& source,
                                  const TimelineSelection& selection,
                                  const PassTable& passes);

void WritePath(const TimelineSelection& selection,
               const std::vector<PathSlice>& slices, TrackId parent,
               TimelineArguments& arguments, PerfettoWriter& writer);

}  // namespace orrery
