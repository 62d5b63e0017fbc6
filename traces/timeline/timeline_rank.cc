#include "traces/timeline/timeline_rank.h"

#include "base/check.h"
#include "base/format.h"
#include "traces/timeline/timeline_lanes.h"
#include "traces/timeline/timeline_names.h"

namespace orrery {
namespace {

bool IsHost(const Program& program, StreamId stream) {
  return program.streams()[stream].kind == StreamKind::kHost;
}

}  // namespace

ComputeNesting::Change ComputeNesting::Enter(const TimelinePass& pass,
                                             const Mark& mark) {
  Change change;
  // Between kernels of another pass nothing can be drawn around them.
  const bool wraps = !pass.interleaved;
  const bool layers = wraps ? detail_ != TimelineDetail::kStep
                            : detail_ == TimelineDetail::kLayer;
  const bool same = pass_ == &pass;
  if (same && layer_ == (layers ? mark.layer : std::nullopt)) return change;
  change.leaves_layer = layer_.has_value();
  layer_ = layers ? mark.layer : std::nullopt;
  change.enters_layer = layer_.has_value();
  if (!same) {
    change.leaves_pass = pass_is_open_;
    pass_is_open_ = change.enters_pass = wraps;
    pass_ = &pass;
  }
  return change;
}

ComputeNesting::Change ComputeNesting::Leave() {
  Change change;
  change.leaves_layer = layer_.has_value();
  change.leaves_pass = pass_is_open_;
  layer_.reset();
  pass_is_open_ = false;
  pass_ = nullptr;
  return change;
}

bool WaitsForPartners(const TimelineSelection& selection,
                      const TaskSpan& span) {
  return selection.detail() == TimelineDetail::kOp &&
         span.ready < span.started && span.kind != SpanKind::kMarker &&
         span.kind != SpanKind::kKernel && selection.Shows(span.rank) &&
         selection.Shows(span.ready, span.started);
}

RankTracks::RankTracks(const TimelineSource& source,
                       const TimelineSelection& selection,
                       const MarkTable& marks, const PassTable& passes,
                       absl::Span<const WaitSlice> waits, RankId rank,
                       TrackId parent, TimelineArguments& arguments,
                       PerfettoWriter& writer)
    : source_(source),
      selection_(selection),
      marks_(marks),
      passes_(passes),
      cursor_(passes.Follow(rank)),
      writer_(writer),
      arguments_(arguments),
      rank_(rank),
      streams_(source.program.streams().size()),
      partners_(source.program.streams().size()),
      nesting_(selection.detail()) {
  const Program& program = source.program;
  const ProgramRank& info = program.ranks()[rank];
  const Role& role = program.role_of(rank);
  rank_track_ = writer.AddTrack(
      {.name =
           fmt::format("rank {} ({})", info.number, NaturalName(role.name())),
       .parent = parent,
       .description = info.multiplicity == 1
                          ? ""
                          : fmt::format("Stands for {} ranks that do the same "
                                        "at the same time.",
                                        info.multiplicity)});
  DrawSteps();
  if (selection.detail() == TimelineDetail::kStep) return;
  const auto has_tasks = [&](StreamId stream) {
    return role.stream_begin(stream) != role.stream_end(stream);
  };
  if (has_tasks(kComputeStream)) {
    streams_[kComputeStream] =
        writer.AddTrack({.name = program.streams()[kComputeStream].name,
                         .parent = rank_track_});
  }
  if (selection.detail() != TimelineDetail::kOp) return;
  DrawWaits(waits);
  std::optional<TrackId> partners;
  for (const StreamId stream : program.streams().ids()) {
    if (stream == kComputeStream || !has_tasks(stream)) continue;
    const std::string& name = program.streams()[stream].name;
    streams_[stream] = writer.AddTrack(
        {.name = IsHost(program, stream) ? name : "comm " + name,
         .parent = rank_track_});
  }
  for (const StreamId stream : program.streams().ids()) {
    if (stream == kComputeStream || !has_tasks(stream)) continue;
    if (IsHost(program, stream)) continue;
    if (!partners) {
      partners = writer.AddTrack(
          {.name = "partners",
           .parent = rank_track_,
           .description = "Calls that wait for other ranks to come: nothing is "
                          "on their links."});
    }
    partners_[stream] = writer.AddTrack(
        {.name = program.streams()[stream].name, .parent = partners});
  }
}

void RankTracks::DrawSteps() {
  LanedTrack steps(writer_, {.name = "steps", .parent = rank_track_});
  writer_.Begin(steps.first(), selection_.from(), writer_.Name("step"));
  for (const TimelinePass& pass : passes_.of(rank_)) {
    if (!selection_.Shows(pass.from, pass.to)) continue;
    const Time from = selection_.Clip(pass.from);
    const Time to = selection_.Clip(pass.to);
    const TrackId row = steps.RowFor(from, to);
    writer_.Slice(row, from, to, writer_.Name(PassTitle(pass.mark)),
                  arguments_.OfPass(rank_, pass, arguments_.categories().pass));
  }
  writer_.End(steps.first(), selection_.to());
}

void RankTracks::DrawWaits(absl::Span<const WaitSlice> waits) {
  const TrackId track =
      writer_.AddTrack({.name = "waiting for",
                        .parent = rank_track_,
                        .description = "Why the compute stream stood still."});
  for (const WaitSlice& wait : waits) {
    writer_.Slice(track, wait.from, wait.to, writer_.Name(wait.name),
                  arguments_.OfWait(rank_, wait));
  }
}

void RankTracks::Apply(const ComputeNesting::Change& change) {
  const TrackId track = *streams_[kComputeStream];
  if (change.leaves_layer) writer_.End(track, last_end_);
  if (change.leaves_pass) writer_.End(track, last_end_);
}

void RankTracks::Nest(const TaskSpan& span) {
  const TimelinePass& pass = cursor_.pass_of(span);
  const Mark& mark = marks_.of(span);
  const ComputeNesting::Change change = nesting_.Enter(pass, mark);
  Apply(change);
  const TrackId track = *streams_[kComputeStream];
  const Time at = selection_.Clip(span.started);
  if (change.enters_pass) {
    writer_.Begin(track, at, writer_.Name(PassTitle(pass.mark)),
                  arguments_.OfPass(rank_, pass, arguments_.categories().pass));
  }
  if (change.enters_layer) {
    writer_.Begin(track, at, arguments_.LayerName(*mark.layer),
                  arguments_.OfLayer(span));
  }
  last_end_ = selection_.Clip(span.ended);
}

void RankTracks::AddPartnerWait(const TaskSpan& span) {
  writer_.Slice(
      *partners_[span.stream], selection_.Clip(span.ready),
      selection_.Clip(span.started),
      arguments_.PartnerWaitName(static_cast<RankId>(span.release.index)),
      arguments_.OfPartnerWait(span, span.ready, span.started));
}

void RankTracks::Add(const TaskSpan& span, const Arrows& arrows) {
  DCHECK(span.rank == rank_);
  const bool is_compute = span.stream == kComputeStream;
  if (is_compute && span.kind == SpanKind::kKernel) Nest(span);
  if (selection_.detail() != TimelineDetail::kOp) return;
  const TimelineArguments::Categories& categories = arguments_.categories();
  EventDetails details = arguments_.Of(
      span, is_compute                             ? categories.kernel
            : IsHost(source_.program, span.stream) ? categories.host
                                                   : categories.communication);
  details.leaving = arrows.leaving_at_start;
  details.arriving = arrows.arriving;
  writer_.Slice(*streams_[span.stream], selection_.Clip(span.started),
                selection_.Clip(span.ended), arguments_.Name(span), details,
                arrows.leaving_at_end);
}

void RankTracks::Finish() {
  if (selection_.detail() == TimelineDetail::kStep) return;
  Apply(nesting_.Leave());
}

}  // namespace orrery
