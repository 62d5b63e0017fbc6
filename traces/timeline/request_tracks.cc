#include "traces/timeline/request_tracks.h"

#include <algorithm>

#include "base/format.h"
#include "base/units_text.h"
#include "traces/timeline/timeline_lanes.h"

namespace orrery {
namespace {

// Old viewers fail on a counter that starts at time 0 exactly.
constexpr Time kFirstInstant{Duration(1000)};
constexpr double kGibibyte = 1 << 30;

bool TakesPromptOf(const RequestStep& step, int64_t sequence) {
  return step.kind == RequestStep::Kind::kPrefill && sequence >= step.first &&
         sequence < step.first + step.count;
}

class RequestWriter {
 public:
  RequestWriter(const RequestTimeline& requests, Time from, Time to,
                PerfettoWriter& writer)
      : requests_(requests),
        from_(from),
        to_(to),
        writer_(writer),
        root_(writer.AddTrack(
            {.name = "requests",
             .description =
                 "Requests of one replica: the others do the same."})),
        tokens_(writer.Key("tokens")),
        cached_(writer.Key("cached before")),
        sequences_(writer.Key("sequences")) {}

  void Write() {
    WriteSteps();
    int64_t first = 0;
    while (first < requests_.sequences) {
      const int64_t end = EndOfLane(first);
      WriteLane(first, end);
      first = end;
    }
    WriteCache();
  }

 private:
  // Steps of a pipeline overlap: the next begins in the first stage while the
  // last stages still work.
  void Slice(LanedTrack& track, const RequestStep& step,
             const std::string& name) {
    const EventArgument arguments[] = {{tokens_, step.tokens},
                                       {cached_, step.cached},
                                       {sequences_, step.count}};
    Slice(track, step.from, step.to, name, {.arguments = arguments});
  }

  // Cut to the window.
  void Slice(LanedTrack& track, Time from, Time to, const std::string& name,
             const EventDetails& details) {
    if (from >= to_ || to <= from_) return;
    from = std::max(from, from_);
    to = std::min(to, to_);
    const TrackId row = track.RowFor(from, to);
    writer_.Begin(row, from, writer_.Name(name), details);
    writer_.End(row, to);
  }

  static std::string NameOf(const RequestStep& step) {
    switch (step.kind) {
      case RequestStep::Kind::kOverhead:
        return "request overhead";
      case RequestStep::Kind::kPrefill:
        return "prefill";
      case RequestStep::Kind::kTransfer:
        return "cache to the decode pool";
      case RequestStep::Kind::kDecode:
        return "decode step";
      case RequestStep::Kind::kDrafts:
        return "drafts of these steps";
      case RequestStep::Kind::kHost:
        return "host after the last step";
      case RequestStep::Kind::kNotDrawn:
        return fmt::format("{} more decode step{}, {} (not drawn)", step.steps,
                           step.steps == 1 ? "" : "s",
                           SecondsText(ToSeconds(step.to - step.from)));
    }
    return "";
  }

  void WriteSteps() {
    LanedTrack track(
        writer_,
        {.name = "steps",
         .parent = root_,
         .description =
             requests_.drawn_steps < requests_.decode_steps
                 ? fmt::format("{} of {} decode steps are drawn; the last "
                               "slice is as long as the others take.",
                               requests_.drawn_steps, requests_.decode_steps)
                 : ""});
    int64_t decoded = 0;
    for (const RequestStep& step : requests_.steps) {
      std::string name = NameOf(step);
      if (step.kind == RequestStep::Kind::kPrefill) {
        name += fmt::format(" of {}", step.count);
      } else if (step.decodes()) {
        name += fmt::format(" {}", decoded++);
      }
      Slice(track, step, name);
    }
  }

  // Few requests have a lane each; of many those that are prefilled together.
  int64_t EndOfLane(int64_t first) const {
    if (requests_.sequences <= kMostRequestLanes) return first + 1;
    for (const RequestStep& step : requests_.steps) {
      if (TakesPromptOf(step, first)) {
        return step.first + step.count;
      }
    }
    return requests_.sequences;
  }

  void WriteLane(int64_t first, int64_t end) {
    LanedTrack lane(writer_,
                    {.name = end == first + 1 ? fmt::format("request {}", first)
                                              : fmt::format("requests {} to {}",
                                                            first, end - 1),
                     .parent = root_});
    Time last{};
    int64_t token = requests_.first_decoded;
    bool waits = true;
    for (const RequestStep& step : requests_.steps) {
      if (step.kind == RequestStep::Kind::kPrefill &&
          !TakesPromptOf(step, first)) {
        continue;
      }
      if (waits && step.from > last) {
        Slice(lane, last, step.from, "waits", {});
      }
      // Once its prompt is in, a request waits for the others' too.
      waits = step.kind == RequestStep::Kind::kOverhead ||
              step.kind == RequestStep::Kind::kPrefill ||
              step.kind == RequestStep::Kind::kTransfer;
      Slice(lane, step,
            step.decodes() ? fmt::format("token {}", token++) : NameOf(step));
      last = std::max(last, step.to);
    }
  }

  void WriteCache() {
    const TrackId bytes = writer_.AddCounter(
        {.name = "KV cache", .parent = root_, .unit = CounterUnit::kGibibytes});
    const TrackId used =
        writer_.AddCounter({.name = "KV cache used",
                            .parent = root_,
                            .unit = CounterUnit::kPercent,
                            .description = "Of what a chip has room for."});
    for (size_t i = 0; i < requests_.cache.size(); ++i) {
      const CacheHeld& level = requests_.cache[i];
      // The last level before the window holds in it.
      const bool last = i + 1 == requests_.cache.size();
      if (!last && requests_.cache[i + 1].at <= from_) continue;
      if (level.at >= to_) break;
      const Time at = std::max({level.at, from_, kFirstInstant});
      const auto held = static_cast<double>(level.held.value());
      writer_.Count(bytes, at, held / kGibibyte);
      if (requests_.room > Bytes(0)) {
        writer_.Count(used, at,
                      100 * held / static_cast<double>(requests_.room.value()));
      }
    }
  }

  const RequestTimeline& requests_;
  Time from_;
  Time to_;
  PerfettoWriter& writer_;
  TrackId root_;
  ArgumentKey tokens_, cached_, sequences_;
};

}  // namespace

void WriteRequestTracks(const RequestTimeline& requests, Time from, Time to,
                        PerfettoWriter& writer) {
  RequestWriter(requests, from, to, writer).Write();
}

}  // namespace orrery
