#include "traces/timeline/timeline.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/format.h"
#include "traces/timeline/timeline_arguments.h"
#include "traces/timeline/timeline_counters.h"
#include "traces/timeline/timeline_links.h"
#include "traces/timeline/timeline_overview.h"
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
  // In the order of the calls; `buffer` holds the result. Requires: places are
  // asked for in ascending order.
  absl::Span<const ArrowId> Of(int64_t place, std::vector<ArrowId>& buffer) {
    buffer.clear();
    while (next_ < entries_.size() && entries_[next_].first < place) ++next_;
    for (; next_ < entries_.size() && entries_[next_].first == place; ++next_) {
      buffer.push_back(entries_[next_].second);
    }
    return buffer;
  }

 private:
  std::vector<Entry> entries_;
  size_t next_ = 0;
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
    const TaskSpan* send = source.spans.OnPartner(
        span, source.program.members(group).front().rank);
    if (send == nullptr || !selection.Shows(*send)) return;
    const ArrowId arrow = writer.NewArrow();
    leaving_at_start_.Add(PlaceOf(*send), arrow);
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
        if (const TaskSpan* last = source.spans.ReleaserOf(span)) {
          return source.spans.ReleaserOf(*last);
        }
        return nullptr;
    }
    return nullptr;
  }

  const TaskSpan* first_;
  ArrowTable leaving_at_start_, leaving_at_end_, arriving_;
  std::vector<ArrowId> buffers_[3];
};

// Whose passes are drawn or named: of each stage one, of those shown, of those
// on the path.
std::vector<RankId> RanksWithPasses(const TimelineSource& source,
                                    const TimelineOptions& options) {
  std::set<RankId> ranks(options.ranks.begin(), options.ranks.end());
  for (const RankId rank : OneRankPerRole(source.program)) ranks.insert(rank);
  for (const PathStep& step : source.path) ranks.insert(step.span.rank);
  return {ranks.begin(), ranks.end()};
}

Time EndOf(const SpanIndex& spans) {
  Time end{};
  for (const TaskSpan& span : spans.spans()) end = std::max(end, span.ended);
  return end;
}

}  // namespace

Timeline::Timeline(const TimelineSource& source, const TimelineOptions& options)
    : source_(source),
      options_(options),
      end_(source.end ? *source.end : EndOf(source.spans)),
      selection_(source.program, options, end_),
      marks_(source.program),
      passes_(source.program, marks_, source.spans.spans(),
              RanksWithPasses(source, options), selection_.from(),
              selection_.to()),
      path_(PathSlices(source, selection_, passes_)),
      waits_(options.ranks.size()) {
  if (options.detail == TimelineDetail::kOp) FindWaits();
}

void Timeline::FindWaits() {
  absl::flat_hash_map<RankId, size_t> place;
  std::vector<BreakdownSink> sinks;
  for (const RankId rank : options_.ranks) {
    place[rank] = sinks.size();
    sinks.emplace_back(source_.program, rank);
  }
  for (const TaskSpan& span : source_.spans.spans()) {
    const auto found = place.find(span.rank);
    if (found != place.end()) sinks[found->second].Add(span);
  }
  for (size_t i = 0; i < sinks.size(); ++i) {
    sinks[i].Finish(end_);
    for (WaitSlice& wait : WaitSlices(source_, passes_, sinks[i].waits())) {
      if (!selection_.Shows(wait.from, wait.to)) continue;
      wait.from = selection_.Clip(wait.from);
      wait.to = selection_.Clip(wait.to);
      waits_[i].push_back(std::move(wait));
    }
  }
}

int64_t Timeline::CountSlices() const {
  const auto passes = [&](RankId rank) {
    return std::count_if(passes_.of(rank).begin(), passes_.of(rank).end(),
                         [&](const TimelinePass& pass) {
                           return selection_.Shows(pass.from, pass.to);
                         });
  };
  auto slices = static_cast<int64_t>(path_.size());
  for (const RankId rank : OneRankPerRole(source_.program)) {
    slices += passes(rank);
  }
  // Each rank has its step.
  for (const RankId rank : options_.ranks) slices += 1 + passes(rank);
  if (options_.detail == TimelineDetail::kStep) return slices;
  for (const auto& waits : waits_) {
    slices += static_cast<int64_t>(waits.size());
  }
  const bool op = options_.detail == TimelineDetail::kOp;
  struct Compute {
    ComputeNesting nesting;
    PassTable::Cursor cursor;
  };
  IdVector<RankId, std::optional<Compute>> ranks(
      source_.program.ranks().size());
  for (const RankId rank : options_.ranks) {
    ranks[rank].emplace(ComputeNesting(options_.detail), passes_.Follow(rank));
  }
  for (const TaskSpan& span : source_.spans.spans()) {
    slices += WaitsForPartners(selection_, span);
    if (!selection_.Shows(span)) continue;
    slices += op;
    if (span.stream != kComputeStream || span.kind != SpanKind::kKernel) {
      continue;
    }
    Compute& compute = *ranks[span.rank];
    const ComputeNesting::Change change =
        compute.nesting.Enter(compute.cursor.pass_of(span), marks_.of(span));
    slices += change.enters_pass + change.enters_layer;
  }
  return slices;
}

Bytes Timeline::PredictSize() const {
  PerfettoWriter writer = PerfettoWriter::ToNowhere();
  Write(writer);
  CHECK(writer.Finish().ok());
  return Bytes(writer.file_bytes());
}

void Timeline::Write(PerfettoWriter& writer) const {
  const Program& program = source_.program;
  TimelineArguments arguments(source_, marks_, writer);
  const TrackId cluster = writer.AddTrack(
      {.name = source_.name, .description = source_.description});
  WriteOverview(source_, selection_, passes_, cluster, arguments, writer);
  WritePath(selection_, path_, cluster, arguments, writer);

  std::optional<int32_t> node;
  TrackId node_track{};
  IdVector<RankId, std::unique_ptr<RankTracks>> ranks(
      std::vector<std::unique_ptr<RankTracks>>(program.ranks().size()));
  RankTrackIds rank_tracks;
  for (size_t i = 0; i < options_.ranks.size(); ++i) {
    const RankId rank = options_.ranks[i];
    const int32_t number = program.ranks()[rank].number;
    const int32_t its_node =
        source_.ranks_per_node > 0 ? number / source_.ranks_per_node : 0;
    if (node != its_node) {
      node_track = writer.AddTrack(
          {.name = fmt::format("node {}", its_node), .parent = cluster});
      node = its_node;
    }
    ranks[rank] = std::make_unique<RankTracks>(source_, selection_, marks_,
                                               passes_, waits_[i], rank,
                                               node_track, arguments, writer);
    const RankTracks& tracks = *ranks[rank];
    rank_tracks[number] = tracks.track();
    WriteMemoryCounters(source_, selection_, rank, tracks.track(), writer);
    WriteBusyCounter(source_, selection_, rank, tracks.track(), writer);
  }
  if (options_.detail != TimelineDetail::kStep) {
    TimelineArrows arrows(source_, selection_, writer);
    for (const TaskSpan& span : source_.spans.spans()) {
      if (WaitsForPartners(selection_, span)) {
        ranks[span.rank]->AddPartnerWait(span);
      }
      if (!selection_.Shows(span)) continue;
      ranks[span.rank]->Add(span, arrows.Of(span));
      if (!writer.status().ok()) break;
    }
  }
  for (const RankId rank : options_.ranks) ranks[rank]->Finish();
  if (!source_.transfers.capacities.empty()) {
    WriteLinkLoads(source_, selection_, rank_tracks, cluster, writer);
  }
}

}  // namespace orrery
