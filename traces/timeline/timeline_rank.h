#pragma once
// RankTracks: the tracks of one rank in a timeline, written as its spans come.
//
//   rank 0 (stage 0)
//     steps         step > pass
//     compute       pass > layer > op
//     tensor ...    communication, and the waits for partners before it
//     waiting for   why the compute stream stood still
//
// Passes and layers are consecutive tasks of one place; they are opened with
// their first task and closed when a task of another place comes.
#include <absl/types/span.h>

#include <optional>
#include <vector>

#include "base/ids.h"
#include "sim/analysis/span_index.h"
#include "traces/format/perfetto_writer.h"
#include "traces/format/span.h"
#include "traces/timeline/timeline_arguments.h"
#include "traces/timeline/timeline_selection.h"
#include "workload/program/program.h"

namespace orrery {

class RankTracks {
 public:
  // The arrows of one span's slice.
  struct Arrows {
    absl::Span<const ArrowId> arriving;
    absl::Span<const ArrowId> leaving_at_start;
    absl::Span<const ArrowId> leaving_at_end;
  };

  // Describes the tracks that `rank` needs, below `parent`.
  RankTracks(const Program& program, const SpanIndex& spans, RankId rank,
             TrackId parent, TimelineDetail detail, PerfettoWriter& writer);

  // Requires: spans of this rank, in the order in which they ended.
  void Add(const TaskSpan& span, const Arrows& arrows,
           TimelineArguments& arguments);
  // Closes what is open; the step has ended at `end`.
  void Finish(Time end);

  TrackId track() const { return rank_track_; }

 private:
  struct StreamTrack {
    std::optional<TrackId> track;
    std::optional<TimelinePlace> place;
    bool layer_is_open = false;
    Time last_end{};
  };

  void Enter(StreamTrack& stream, const TimelinePlace& place, Time at,
             bool is_compute);
  void Leave(StreamTrack& stream, bool is_compute, bool whole_pass);
  void AddWait(TrackId track, const TaskSpan& span, Time begin, Time end,
               const std::string& for_what, TimelineArguments& arguments);
  std::string PassName(const TimelinePlace& place) const;

  const Program& program_;
  const SpanIndex& spans_;
  PerfettoWriter& writer_;
  RankId rank_;
  TimelineDetail detail_;
  TrackId rank_track_{};
  TrackId steps_{};
  std::optional<TrackId> waiting_;
  IdVector<StreamId, StreamTrack> streams_;
};

}  // namespace orrery
