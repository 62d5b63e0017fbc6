#include "traces/timeline/timeline.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <optional>

#include "base/format.h"
#include "traces/timeline/timeline_arguments.h"
#include "traces/timeline/timeline_counters.h"
#include "traces/timeline/timeline_rank.h"

namespace orrery {
namespace {

// Arrows by the place of the span where they leave or arrive.
class ArrowTable {
 public:
  using Entry = std::pair<int64_t, ArrowId>;
  void Add(int64_t place, ArrowId arrow) {
    entries_.emplace_back(place, arrow);
  }
  void Sort() { std::sort(entries_.begin(), entries_.end()); }
  // In the order of the calls; `buffer` holds the result.
  absl::Span<const ArrowId> Of(int64_t place, std::vector<ArrowId>& buffer) {
    buffer.clear();
    auto at = std::lower_bound(entries_.begin(), entries_.end(),
                               Entry(place, ArrowId{}));
    for (; at != entries_.end() && at->first == place; ++at) {
      buffer.push_back(at->second);
    }
    return buffer;
  }

 private:
  std::vector<Entry> entries_;
};

// All arrows between shown spans, found before anything is written because an
// arrow is written first where it leaves.
class TimelineArrows {
 public:
  TimelineArrows(const TimelineSource& source,
                 const TimelineSelection& selection, PerfettoWriter& writer)
      : first_(source.spans.spans().data()) {
    if (selection.detail() != TimelineDetail::kOp) return;
    for (const TaskSpan& span : source.spans.spans()) {
      if (!selection.Shows(span)) continue;
      if (span.kind == SpanKind::kReceive) {
        AddFromSend(source, selection, span, writer);
      }
      const TaskSpan* from = SourceOf(source, span);
      if (from == nullptr || !selection.Shows(*from)) continue;
      const ArrowId arrow = writer.NewArrow();
      leaving_at_end_.Add(PlaceOf(*from), arrow);
      arriving_.Add(PlaceOf(span), arrow);
    }
    leaving_at_start_.Sort();
    leaving_at_end_.Sort();
    arriving_.Sort();
  }

  RankTracks::Arrows Of(const TaskSpan& span) {
    const int64_t place = PlaceOf(span);
    return {.arriving = arriving_.Of(place, buffers_[0]),
            .leaving_at_start = leaving_at_start_.Of(place, buffers_[1]),
            .leaving_at_end = leaving_at_end_.Of(place, buffers_[2])};
  }

 private:
  int64_t PlaceOf(const TaskSpan& span) const { return &span - first_; }

  // Sends and receives start together: the arrow leaves where the send starts.
  void AddFromSend(const TimelineSource& source,
                   const TimelineSelection& selection, const TaskSpan& span,
                   PerfettoWriter& writer) {
    const Role& role = source.program.role_of(span.rank);
    const GroupId group = source.program.group_of(
        span.rank, static_cast<SlotId>(role.task(span.task).slot));
    const TaskSpan& send = source.spans.OnPartner(
        span, source.program.members(group).front().rank);
    if (!selection.Shows(send)) return;
    const ArrowId arrow = writer.NewArrow();
    leaving_at_start_.Add(PlaceOf(send), arrow);
    arriving_.Add(PlaceOf(span), arrow);
  }

  // The span on another track that made this one start.
  static const TaskSpan* SourceOf(const TimelineSource& source,
                                  const TaskSpan& span) {
    switch (span.release.by) {
      case Release::By::kBeginning:
      case Release::By::kStream:
        return nullptr;
      case Release::By::kDependency:
        return source.spans.ReleaserOf(span);
      case Release::By::kPartner:
        if (span.kind != SpanKind::kCollective) return nullptr;
        return source.spans.ReleaserOf(*source.spans.ReleaserOf(span));
    }
    return nullptr;
  }

  const TaskSpan* first_;
  ArrowTable leaving_at_start_, leaving_at_end_, arriving_;
  std::vector<ArrowId> buffers_[3];
};

void WriteCriticalPath(const TimelineSource& source,
                       const TimelineSelection& selection, TrackId parent,
                       PerfettoWriter& writer) {
  const TrackId track = writer.AddTrack(
      {.name = "critical path",
       .parent = parent,
       .description = "The chain of tasks that made the run as long as it is: "
                      "each made the next one start."});
  TimelineArguments arguments(source.program, source.transfers, source.ops,
                              source.group_sizes, writer);
  for (const PathStep& step : source.path) {
    if (!selection.Shows(step)) continue;
    writer.Begin(track, step.span.started,
                 writer.Name(source.program.name(step.span.name)),
                 arguments.Of(step.span, "critical path"));
    writer.End(track, step.span.ended);
  }
}

}  // namespace

void WriteTimeline(const TimelineSource& source, const TimelineOptions& options,
                   PerfettoWriter& writer) {
  const Program& program = source.program;
  const TimelineSelection selection(program, options);
  Time end{};
  for (const TaskSpan& span : source.spans.spans()) {
    end = std::max(end, span.ended);
  }
  const TrackId cluster =
      writer.AddTrack({.name = "cluster", .description = source.description});
  WriteCriticalPath(source, selection, cluster, writer);

  std::optional<int32_t> node;
  TrackId node_track{};
  absl::flat_hash_map<RankId, RankTracks> ranks;
  for (const RankId rank : options.ranks) {
    const int32_t number = program.ranks()[rank].number;
    const int32_t its_node =
        source.ranks_per_node > 0 ? number / source.ranks_per_node : 0;
    if (node != its_node) {
      node_track = writer.AddTrack(
          {.name = fmt::format("node {}", its_node), .parent = cluster});
      node = its_node;
    }
    const RankTracks& tracks =
        ranks
            .try_emplace(rank, program, source.spans, rank, node_track,
                         options.detail, writer)
            .first->second;
    WriteMemoryCounters(program, source.spans, rank, tracks.track(), end,
                        writer);
    WriteBusyCounter(program, source.spans, rank, tracks.track(), end, writer);
  }
  TimelineArrows arrows(source, selection, writer);
  TimelineArguments arguments(program, source.transfers, source.ops,
                              source.group_sizes, writer);
  for (const TaskSpan& span : source.spans.spans()) {
    if (!selection.Shows(span)) continue;
    ranks.at(span.rank).Add(span, arrows.Of(span), arguments);
    if (!writer.status().ok()) break;
  }
  for (const RankId rank : options.ranks) ranks.at(rank).Finish(end);
  if (!source.transfers.capacities.empty()) {
    WriteLinkLoads(program, source.spans.spans(), options.ranks,
                   source.transfers, source.log, cluster, end, writer);
  }
}

}  // namespace orrery
