#include "traces/timeline/request_tracks.h"

#include <algorithm>

#include "base/check.h"
#include "base/format.h"

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
  void Slice(TrackId track, const RequestStep& step, const std::string& name) {
    const EventArgument arguments[] = {{tokens_, step.tokens},
                                       {cached_, step.cached},
                                       {sequences_, step.count}};
    Slice(track, step.from, step.to, name, {.arguments = arguments});
  }

  // Cut to the window.
  void Slice(TrackId track, Time from, Time to, const std::string& name,
             const EventDetails& details) {
    if (from >= to_ || to <= from_) return;
    writer_.Begin(track, std::max(from, from_), writer_.Name(name), details);
    writer_.End(track, std::min(to, to_));
  }

  void WriteSteps() {
    const TrackId track = writer_.AddTrack({.name = "steps", .parent = root_});
    int64_t decoded = 0;
    for (const RequestStep& step : requests_.steps) {
      switch (step.kind) {
        case RequestStep::Kind::kPrefill:
          Slice(track, step, fmt::format("prefill of {}", step.count));
          break;
        case RequestStep::Kind::kTransfer:
          Slice(track, step, "cache to the decode pool");
          break;
        case RequestStep::Kind::kDecode:
          Slice(track, step, fmt::format("decode step {}", decoded++));
          break;
      }
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
    const TrackId lane = writer_.AddTrack(
        {.name = end == first + 1
                     ? fmt::format("request {}", first)
                     : fmt::format("requests {} to {}", first, end - 1),
         .parent = root_});
    Time last{};
    int64_t token = 1;
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
      waits = !step.decodes();
      Slice(lane, step,
            step.decodes() ? fmt::format("token {}", ++token)
            : step.kind == RequestStep::Kind::kTransfer
                ? "cache to the decode pool"
                : "prefill");
      last = step.to;
    }
  }

  void WriteCache() {
    CHECK(requests_.cached_after.size() == requests_.steps.size());
    const TrackId bytes = writer_.AddCounter(
        {.name = "KV cache", .parent = root_, .unit = CounterUnit::kGibibytes});
    const TrackId used =
        writer_.AddCounter({.name = "KV cache used",
                            .parent = root_,
                            .unit = CounterUnit::kPercent,
                            .description = "Of what a chip has room for."});
    for (size_t i = 0; i < requests_.steps.size(); ++i) {
      // Taken when the step begins; the last before the window holds in it.
      const bool last = i + 1 == requests_.steps.size();
      if (!last && requests_.steps[i + 1].from <= from_) continue;
      if (requests_.steps[i].from >= to_) break;
      const Time at = std::max({requests_.steps[i].from, from_, kFirstInstant});
      const auto held = static_cast<double>(requests_.cached_after[i].value());
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
