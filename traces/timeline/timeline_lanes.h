#pragma once
// LanedTrack: a track whose slices may overlap, drawn in as many rows as are
// needed.
//
//   LanedTrack row(writer, {.name = "stage 0", .parent = pipeline});
//   writer.Begin(row.RowFor(from, to), from, name);
//
// Requires: slices come in the order in which they start.
#include <utility>
#include <vector>

#include "base/units.h"
#include "traces/format/perfetto_writer.h"

namespace orrery {

class LanedTrack {
 public:
  LanedTrack(PerfettoWriter& writer, TrackSpec spec) : writer_(&writer) {
    spec.lanes = true;
    rows_.emplace_back(writer.AddTrack(spec), Time{});
  }
  TrackId first() const { return rows_.front().first; }
  // The first row that is free at `from`; taken until `to`.
  TrackId RowFor(Time from, Time to) {
    for (auto& [track, free_at] : rows_) {
      if (free_at > from) continue;
      free_at = to;
      return track;
    }
    rows_.emplace_back(writer_->AddLane(first()), to);
    return rows_.back().first;
  }

 private:
  PerfettoWriter* writer_;
  std::vector<std::pair<TrackId, Time>> rows_;
};

}  // namespace orrery
