#include "traces/timeline/timeline_arguments.h"

#include "base/format.h"
#include "traces/timeline/timeline_names.h"

namespace orrery {
namespace {

// The entry of `place`, which is there from now on.
template <class T>
T& At(std::vector<T>& entries, size_t place) {
  if (place >= entries.size()) entries.resize(place + 1);
  return entries[place];
}

}  // namespace

TimelineArguments::TimelineArguments(const TimelineSource& source,
                                     const MarkTable& marks,
                                     PerfettoWriter& writer)
    : source_(source),
      marks_(marks),
      program_(source.program),
      writer_(writer),
      kernels_(source, writer),
      calls_(source, writer),
      categories_{.kernel = writer.Category("kernel"),
                  .communication = writer.Category("communication"),
                  .host = writer.Category("host"),
                  .partner = writer.Category("partner"),
                  .wait = writer.Category("wait"),
                  .pass = writer.Category("pass"),
                  .pipeline = writer.Category("pipeline"),
                  .layer = writer.Category("layer"),
                  .path = writer.Category("critical path")},
      start_(writer.Key("ps")),
      duration_(writer.Key("dur_ps")),
      rank_(writer.Key("rank")),
      phase_(writer.Key("phase")),
      micro_batch_(writer.Key("microbatch")),
      chunk_(writer.Key("chunk")),
      step_(writer.Key("step")),
      part_(writer.Key("part")),
      layer_(writer.Key("layer")),
      busy_(writer.Key("kernels_ps")),
      kernels_key_(writer.Key("kernels")),
      cause_(writer.Key("cause")),
      to_start_(writer.Key("to start")),
      places_(source.program.ranks().size()),
      partners_(source.program.ranks().size()) {}

EventName TimelineArguments::Name(const TaskSpan& span) {
  const bool kernel = span.kind == SpanKind::kKernel;
  const WorkPhase phase = kernel ? marks_.of(span).phase : WorkPhase::kOther;
  const bool product = kernel && kernels_.IsProduct(span);
  EventName& name =
      At(names_, (Index(span.name) * kPhases + static_cast<size_t>(phase)) * 2 +
                     product);
  if (name == EventName{}) {
    const std::string& plain = program_.name(span.name);
    name = writer_.Name(kernel ? KernelLabel(plain, phase, product) : plain);
  }
  return name;
}

EventName TimelineArguments::LayerName(int32_t layer) {
  EventName& name = At(layers_, static_cast<size_t>(layer));
  if (name == EventName{}) name = writer_.Name(fmt::format("layer {}", layer));
  return name;
}

EventName TimelineArguments::PartnerWaitName(RankId partner) {
  EventName& name = partners_[partner];
  if (name == EventName{}) {
    name = writer_.Name(
        fmt::format("wait for rank {}", program_.ranks()[partner].number));
  }
  return name;
}

ArgumentText TimelineArguments::TextOf(NameId name) {
  ArgumentText& text = At(task_names_, Index(name));
  if (text == ArgumentText{}) text = writer_.Text(program_.name(name));
  return text;
}

void TimelineArguments::AddTimes(Time begin, Time end) {
  block_.Add(duration_, int64_t{(end - begin).count()});
  // The file counts nanoseconds; this is what a start lies beyond its own.
  block_.Add(start_, int64_t{begin.time_since_epoch().count() % 1000});
}

void TimelineArguments::AddMark(RankId rank, const Mark& mark,
                                ArgumentBlock& block) {
  block.Add(rank_, int64_t{program_.ranks()[rank].number});
  if (mark.phase != WorkPhase::kOther) {
    ArgumentText& phase = phases_[static_cast<size_t>(mark.phase)];
    if (phase == ArgumentText{}) phase = writer_.Text(View(NameOf(mark.phase)));
    block.Add(phase_, phase);
  }
  const bool step = IsEngineStep(mark);
  if (mark.micro_batch) {
    block.Add(step ? step_ : micro_batch_, int64_t{*mark.micro_batch});
  }
  if (mark.piece) block.Add(step ? part_ : chunk_, int64_t{*mark.piece});
  if (mark.layer) block.Add(layer_, int64_t{*mark.layer});
}

void TimelineArguments::AddPlace(const TaskSpan& span) {
  Place& place = At(places_[span.rank], Index(span.stream));
  const Mark& mark = marks_.of(span);
  if (place.mark != &mark) {
    place_.Clear();
    AddMark(span.rank, mark, place_);
    place.mark = &mark;
    place.encoded.assign(place_.bytes().data(), place_.bytes().size());
  }
  block_.Append(place.encoded);
}

EventDetails TimelineArguments::Of(const TaskSpan& span,
                                   EventCategory category) {
  block_.Clear();
  if (span.kind == SpanKind::kKernel) {
    kernels_.Append(span, block_);
  } else if (span.kind != SpanKind::kMarker) {
    calls_.Append(span, block_);
  }
  AddPlace(span);
  AddTimes(span.started, span.ended);
  return Done(category);
}

EventDetails TimelineArguments::OfPartnerWait(const TaskSpan& span, Time begin,
                                              Time end) {
  block_.Clear();
  block_.Add(to_start_, TextOf(span.name));
  AddPlace(span);
  AddTimes(begin, end);
  return Done(categories_.partner);
}

EventDetails TimelineArguments::OfWait(RankId rank, const WaitSlice& wait) {
  block_.Clear();
  block_.Add(cause_, writer_.Text(View(NameOf(wait.kind))));
  if (wait.waiter) {
    block_.Add(to_start_, TextOf(program_.role_of(rank).name_of(*wait.waiter)));
    AddMark(rank, marks_.of(rank, *wait.waiter), block_);
  } else {
    block_.Add(rank_, int64_t{program_.ranks()[rank].number});
  }
  AddTimes(wait.from, wait.to);
  return Done(categories_.wait);
}

EventDetails TimelineArguments::OfPass(RankId rank, const TimelinePass& pass,
                                       EventCategory category) {
  block_.Clear();
  AddMark(rank, pass.mark, block_);
  block_.Add(kernels_key_, pass.kernels);
  block_.Add(busy_, int64_t{pass.busy.count()});
  AddTimes(pass.from, pass.to);
  EventDetails details = Done(category);
  // One colour for each kind of pass, whatever its label; told apart better
  // than by single letters.
  details.correlation = View(NameOf(pass.mark.phase));
  return details;
}

EventDetails TimelineArguments::OfLayer(const TaskSpan& span) {
  block_.Clear();
  AddPlace(span);
  return Done(categories_.layer);
}

}  // namespace orrery
