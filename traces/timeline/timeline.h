#pragma once
// The timeline of a run: everything that happened, laid out for a viewer.
//
//   cluster
//     pipeline                one row per stage, see timeline_overview.h
//     critical path           what made the run as long as it is
//     node 0
//       rank 0 (stage 0)      see timeline_rank.h
//         memory, compute busy, loads of its links
//     network                 links of other ranks
//     fabric                  links between switches
//
// Arrows lead from what made a task start to the task, where the two are on
// different tracks: a dependency, a send to its receive, the work of the rank
// that came last to a collective.
//
//   const Timeline timeline(source, options);
//   timeline.CountSlices();
//   timeline.Write(writer);
#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "traces/format/perfetto_writer.h"
#include "traces/timeline/timeline_marks.h"
#include "traces/timeline/timeline_passes.h"
#include "traces/timeline/timeline_path.h"
#include "traces/timeline/timeline_selection.h"
#include "traces/timeline/timeline_source.h"
#include "traces/timeline/timeline_waits.h"

namespace orrery {

class Timeline {
 public:
  // Requires: `options.ranks` in ascending order. Both outlive this.
  Timeline(const TimelineSource& source, const TimelineOptions& options);

  // The slices that Write will write.
  int64_t CountSlices() const;
  void Write(PerfettoWriter& writer) const;
  // About the size of the file that Write writes: it is tried out, and a part
  // of it compressed.
  Bytes PredictSize() const;

 private:
  void FindWaits();

  const TimelineSource& source_;
  const TimelineOptions& options_;
  Time end_;
  TimelineSelection selection_;
  MarkTable marks_;
  PassTable passes_;
  std::vector<PathSlice> path_;
  std::vector<std::vector<WaitSlice>> waits_;  // by shown rank
};

}  // namespace orrery
