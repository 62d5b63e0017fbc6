#pragma once
// RankTracks: the tracks of one rank in a timeline, written as its spans come.
//
//   rank 0 (stage 0)
//     steps         step > pass
//     compute       pass > layer > op
//     waiting for   why the compute stream stood still
//     comm tensor   communication, while it is transferred
//     ...
//     partners      calls that wait for other ranks, by stream
//
// On `compute`, passes whose kernels alternate (DualPipe) are not drawn around
// them; each is whole on `steps`.
#include <absl/types/span.h>

#include <optional>
#include <vector>

#include "base/ids.h"
#include "traces/format/perfetto_writer.h"
#include "traces/format/span.h"
#include "traces/timeline/timeline_arguments.h"
#include "traces/timeline/timeline_marks.h"
#include "traces/timeline/timeline_passes.h"
#include "traces/timeline/timeline_selection.h"
#include "traces/timeline/timeline_source.h"
#include "traces/timeline/timeline_waits.h"

namespace orrery {

// What a kernel has around it on the compute track.
class ComputeNesting {
 public:
  explicit ComputeNesting(TimelineDetail detail) : detail_(detail) {}

  struct Change {
    bool leaves_layer = false;
    bool leaves_pass = false;
    bool enters_pass = false;
    bool enters_layer = false;
  };
  // When the next kernel of the stream is drawn.
  Change Enter(const TimelinePass& pass, const Mark& mark);
  // At the end.
  Change Leave();

 private:
  TimelineDetail detail_;
  const TimelinePass* pass_ = nullptr;
  bool pass_is_open_ = false;
  std::optional<int32_t> layer_;  // if open
};

class RankTracks {
 public:
  // The arrows of one span's slice.
  struct Arrows {
    absl::Span<const ArrowId> arriving;
    absl::Span<const ArrowId> leaving_at_start;
    absl::Span<const ArrowId> leaving_at_end;
  };

  // Describes the tracks that `rank` needs, below `parent`, and draws its
  // passes and waits. All outlive this.
  RankTracks(const TimelineSource& source, const TimelineSelection& selection,
             const MarkTable& marks, const PassTable& passes,
             absl::Span<const WaitSlice> waits, RankId rank, TrackId parent,
             TimelineArguments& arguments, PerfettoWriter& writer);

  // Requires: spans of this rank that are shown, in the order in which they
  // ended; not where passes alone are shown.
  void Add(const TaskSpan& span, const Arrows& arrows);
  // What a call waits for; a span that is shown or not.
  void AddPartnerWait(const TaskSpan& span);
  // Closes what is open.
  void Finish();

  TrackId track() const { return rank_track_; }

 private:
  void DrawSteps();
  void DrawWaits(absl::Span<const WaitSlice> waits);
  void Nest(const TaskSpan& span);
  void Apply(const ComputeNesting::Change& change);

  const TimelineSource& source_;
  const TimelineSelection& selection_;
  const MarkTable& marks_;
  const PassTable& passes_;
  PassTable::Cursor cursor_;
  PerfettoWriter& writer_;
  TimelineArguments& arguments_;
  RankId rank_;
  TrackId rank_track_{};
  IdVector<StreamId, std::optional<TrackId>> streams_;
  IdVector<StreamId, std::optional<TrackId>> partners_;
  ComputeNesting nesting_;
  Time last_end_{};  // on the compute track
};

// Whether `span` has a wait for partners to be drawn.
bool WaitsForPartners(const TimelineSelection& selection, const TaskSpan& span);

}  // namespace orrery
