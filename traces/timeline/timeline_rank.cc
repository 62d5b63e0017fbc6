#include "traces/timeline/timeline_rank.h"

#include "base/check.h"
#include "base/format.h"
#include "sim/analysis/wait_cause.h"

namespace orrery {
namespace {

bool IsCompute(const Program& program, StreamId stream) {
  return program.streams()[stream].kind == StreamKind::kCompute;
}

}  // namespace

RankTracks::RankTracks(const Program& program, const SpanIndex& spans,
                       RankId rank, TrackId parent, TimelineDetail detail,
                       PerfettoWriter& writer)
    : program_(program),
      spans_(spans),
      writer_(writer),
      rank_(rank),
      detail_(detail),
      streams_(program.streams().size()) {
  const ProgramRank& info = program.ranks()[rank];
  const Role& role = program.role_of(rank);
  rank_track_ = writer.AddTrack(
      {.name = fmt::format("rank {} ({})", info.number, role.name()),
       .parent = parent,
       .description = info.multiplicity == 1
                          ? ""
                          : fmt::format("Stands for {} ranks that do the same "
                                        "at the same time.",
                                        info.multiplicity)});
  steps_ = writer.AddTrack({.name = "steps", .parent = rank_track_});
  for (const StreamId stream : program.streams().ids()) {
    if (role.stream_begin(stream) == role.stream_end(stream)) continue;
    streams_[stream].track =
        writer.AddTrack({.name = IsCompute(program, stream)
                                     ? program.streams()[stream].name
                                     : "comm " + program.streams()[stream].name,
                         .parent = rank_track_});
  }
  if (detail == TimelineDetail::kOp) {
    waiting_ =
        writer.AddTrack({.name = "waiting for",
                         .parent = rank_track_,
                         .description = "Why the compute stream stood still."});
  }
  writer.Begin(steps_, Time{}, writer.Name("step"));
}

std::string RankTracks::PassName(const TimelinePlace& place) const {
  // A pass that begins with weight gradients has nothing else.
  const std::string_view phase =
      NameOf(place.phase == WorkPhase::kRecompute ? WorkPhase::kBackward
                                                  : place.phase);
  return place.micro_batch ? fmt::format("{} mb {}", phase, *place.micro_batch)
                           : std::string(phase);
}

void RankTracks::Leave(StreamTrack& stream, bool is_compute, bool whole_pass) {
  if (stream.layer_is_open) writer_.End(*stream.track, stream.last_end);
  stream.layer_is_open = false;
  if (!whole_pass || !stream.place) return;
  writer_.End(*stream.track, stream.last_end);
  if (is_compute) writer_.End(steps_, stream.last_end);
  stream.place.reset();
}

void RankTracks::Enter(StreamTrack& stream, const TimelinePlace& place, Time at,
                       bool is_compute) {
  if (stream.place && stream.place->SameLayer(place)) return;
  const bool same_pass = stream.place && stream.place->SamePass(place);
  Leave(stream, is_compute, !same_pass);
  if (!same_pass) {
    const EventName name = writer_.Name(PassName(place));
    writer_.Begin(*stream.track, at, name);
    if (is_compute) writer_.Begin(steps_, at, name);
  }
  stream.place = place;
  if (place.layer && detail_ != TimelineDetail::kStep) {
    writer_.Begin(*stream.track, at,
                  writer_.Name(fmt::format("layer {}", *place.layer)));
    stream.layer_is_open = true;
  }
}

void RankTracks::AddWait(TrackId track, const TaskSpan& span, Time begin,
                         Time end, const std::string& for_what,
                         TimelineArguments& arguments) {
  writer_.Begin(track, begin, writer_.Name(for_what),
                arguments.OfWait(span, begin, end));
  writer_.End(track, end);
}

void RankTracks::Add(const TaskSpan& span, const Arrows& arrows,
                     TimelineArguments& arguments) {
  DCHECK(span.rank == rank_);
  const bool is_compute = IsCompute(program_, span.stream);
  const bool op = detail_ == TimelineDetail::kOp;
  StreamTrack& stream = streams_[span.stream];
  if (is_compute || !op) {
    Enter(stream, PlaceOf(program_, span), span.started, is_compute);
  }
  stream.last_end = span.ended;
  if (!op) return;
  if (is_compute && span.headed < span.ready) {
    AddWait(*waiting_, span, span.headed, span.ready,
            WaitCause(program_, spans_, span), arguments);
  }
  if (!is_compute && span.ready < span.started) {
    const auto partner = static_cast<RankId>(span.release.index);
    AddWait(*stream.track, span, span.ready, span.started,
            fmt::format("wait for rank {}", program_.ranks()[partner].number),
            arguments);
  }
  EventDetails details =
      arguments.Of(span, is_compute ? "kernel" : "communication");
  details.leaving = arrows.leaving_at_start;
  details.arriving = arrows.arriving;
  writer_.Begin(*stream.track, span.started,
                writer_.Name(program_.name(span.name)), details);
  writer_.End(*stream.track, span.ended, arrows.leaving_at_end);
}

void RankTracks::Finish(Time end) {
  for (const StreamId stream : streams_.ids()) {
    Leave(streams_[stream], IsCompute(program_, stream), true);
  }
  writer_.End(steps_, end);
}

}  // namespace orrery
