#include "traces/timeline/timeline_counters.h"

#include <absl/strings/str_replace.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/format.h"
#include "sim/analysis/memory_changes.h"

namespace orrery {
namespace {

// The counters of one rank, and what they stand at.
class MemoryStack {
 public:
  MemoryStack(const TimelineSource& source, TrackId parent,
              const MemoryByKind& held,
              const std::array<bool, kMemoryKinds>& used,
              PerfettoWriter& writer)
      : writer_(writer), libraries_(source.reserved_memory), held_(held) {
    const auto add = [&](std::string name) {
      return writer.AddCounter({.name = std::move(name),
                                .parent = parent,
                                .unit = CounterUnit::kGibibytes,
                                .scale_key = "memory"});
    };
    total_ = add("memory");
    if (source.memory_capacity > Bytes(0)) capacity_ = add("memory capacity");
    if (libraries_ > Bytes(0)) base_ = add("memory: libraries");
    for (size_t k = 0; k < kMemoryKinds; ++k) {
      if (!used[k]) continue;
      kinds_[k] = add(
          "memory: + " +
          absl::StrReplaceAll(std::string(NameOf(static_cast<MemoryKind>(k))),
                              {{"_", " "}}));
    }
  }

  void Change(size_t kind, Bytes change) { held_[kind] += change; }

  // Whatever stands on `kind` moves with it.
  void Write(Time at, size_t kind) const {
    Bytes sum = libraries_;
    for (size_t k = 0; k < kMemoryKinds; ++k) {
      sum += held_[k];
      if (k >= kind && kinds_[k]) Count(*kinds_[k], at, sum);
    }
    Count(total_, at, sum);
  }
  void WriteAll(Time at, Bytes capacity) const {
    if (capacity_) Count(*capacity_, at, capacity);
    if (base_) Count(*base_, at, libraries_);
    Write(at, 0);
  }

 private:
  void Count(TrackId track, Time at, Bytes value) const {
    constexpr double kGibibyte = 1 << 30;
    CountAt(writer_, track, at, static_cast<double>(value.value()) / kGibibyte);
  }

  PerfettoWriter& writer_;
  Bytes libraries_;
  MemoryByKind held_;
  TrackId total_{};
  std::optional<TrackId> capacity_, base_;
  std::array<std::optional<TrackId>, kMemoryKinds> kinds_{};
};

}  // namespace

void CountAt(PerfettoWriter& writer, TrackId counter, Time at, double value) {
  constexpr Time kFirstInstant{Duration(1000)};
  writer.Count(counter, std::max(at, kFirstInstant), value);
}

void WriteMemoryCounters(const TimelineSource& source,
                         const TimelineSelection& selection, RankId rank,
                         TrackId parent, PerfettoWriter& writer) {
  const std::vector<MemoryChange> changes =
      MemoryChanges(source.program, source.spans, rank);
  MemoryByKind held = source.program.role_of(rank).initial_memory();
  const bool has_before =
      source.memory_before != nullptr && !source.memory_before->empty();
  for (size_t k = 0; has_before && k < kMemoryKinds; ++k) {
    held[k] += (*source.memory_before)[rank][k];
  }
  // What ends as the window begins lies before it, as when it is recorded.
  const auto is_before = [from = selection.from()](const MemoryChange& c) {
    return c.at < from || (c.at == from && from > Time{} && !c.is_start);
  };
  auto change = changes.begin();
  for (; change != changes.end() && is_before(*change); ++change) {
    held[change->kind] += change->bytes;
  }
  const auto last = std::find_if(
      change, changes.end(),
      [&](const MemoryChange& c) { return c.at > selection.to(); });
  std::array<bool, kMemoryKinds> used{};
  for (size_t k = 0; k < kMemoryKinds; ++k) used[k] = held[k] != Bytes(0);
  for (auto c = change; c != last; ++c) used[c->kind] = true;
  if (std::find(used.begin(), used.end(), true) == used.end()) return;
  MemoryStack stack(source, parent, held, used, writer);
  stack.WriteAll(selection.from(), source.memory_capacity);
  // Every change counts, even those that meet in an instant: the largest total
  // must be the engine's peak.
  for (; change != last; ++change) {
    stack.Change(change->kind, change->bytes);
    stack.Write(change->at, change->kind);
  }
  stack.WriteAll(selection.to(), source.memory_capacity);
}

void WriteBusyCounter(const TimelineSource& source,
                      const TimelineSelection& selection, RankId rank,
                      TrackId parent, PerfettoWriter& writer) {
  constexpr int64_t kParts = 200;
  const int64_t length = (selection.to() - selection.from()).count();
  if (length < kParts) return;
  std::vector<Duration> busy(kParts, Duration(0));
  const auto edge = [&](int64_t part) {
    return selection.from() +
           Duration(static_cast<int64_t>(static_cast<__int128>(length) * part /
                                         kParts));
  };
  // Kernels of a stream come in the order of time.
  int64_t first = 0;
  Time first_end = edge(1);
  source.spans.ForEach(rank, [&](const TaskSpan& span) {
    if (span.kind != SpanKind::kKernel || span.stream != kComputeStream ||
        !selection.Shows(span.started, span.ended)) {
      return;
    }
    const Time from = selection.Clip(span.started);
    const Time to = selection.Clip(span.ended);
    while (first + 1 < kParts && first_end <= from) {
      first_end = edge(++first + 1);
    }
    if (to <= first_end) {
      busy[static_cast<size_t>(first)] += to - from;
      return;
    }
    for (int64_t p = first; p < kParts && edge(p) < to; ++p) {
      busy[static_cast<size_t>(p)] +=
          std::min(to, edge(p + 1)) - std::max(from, edge(p));
    }
  });
  const TrackId counter = writer.AddCounter({.name = "compute busy",
                                             .parent = parent,
                                             .unit = CounterUnit::kPercent,
                                             .scale_key = "busy"});
  for (int64_t p = 0; p < kParts; ++p) {
    const Duration whole = edge(p + 1) - edge(p);
    CountAt(writer, counter, edge(p),
            100.0 * ToSeconds(busy[static_cast<size_t>(p)]) / ToSeconds(whole));
  }
  CountAt(writer, counter, selection.to(), 0);
}

}  // namespace orrery
