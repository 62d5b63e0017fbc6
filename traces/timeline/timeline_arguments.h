#pragma once
// What the details panel of a timeline says about a task, what people look for
// first: the shape, how fast it ran, what bound it; then where it belongs; then
// picoseconds.
#include <absl/container/flat_hash_map.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "traces/format/perfetto_writer.h"
#include "traces/format/span.h"
#include "traces/timeline/timeline_passes.h"
#include "traces/timeline/timeline_source.h"
#include "traces/timeline/timeline_waits.h"

namespace orrery {

// Collectives are described with the names PyTorch's profiler uses, so that
// what people know how to search for is found. What all runs of a kernel or a
// call have in common is encoded once.
class TimelineArguments {
 public:
  // Both outlive this.
  TimelineArguments(const TimelineSource& source, PerfettoWriter& writer);

  // Where a task belongs, looked up once for all that ask in a row.
  const Mark& MarkOf(const TaskSpan& span);
  // What a task's slice is called.
  EventName Name(const TaskSpan& span);
  // Details with the span's arguments; valid until the next call.
  EventDetails Of(const TaskSpan& span, absl::string_view category);
  // Of a call's wait for a partner, from `begin` to `end`.
  EventDetails OfPartnerWait(const TaskSpan& span, Time begin, Time end);
  EventDetails OfWait(RankId rank, const WaitSlice& wait);
  EventDetails OfPass(RankId rank, const TimelinePass& pass,
                      absl::string_view category);
  EventDetails OfLayer(const TaskSpan& span);

 private:
  void Add(ArgumentKey key, int64_t value);
  void AddTimes(Time begin, Time end);
  void AddMark(RankId rank, const Mark& mark);
  void AddPlace(const TaskSpan& span);
  absl::string_view Kernel(const TaskSpan& span);
  absl::string_view Communication(const TaskSpan& span);
  // Every member sends to the next: what it says depends on who asks.
  bool IsRing(const TaskSpan& span) const;
  // What they have in common.
  std::string EncodeKernel(const KernelWork& kernel, Duration time);
  std::string EncodeCall(const TaskSpan& span, const Task& task);
  void AddNamed(absl::string_view key, int64_t value);
  void AddNamed(absl::string_view key, double value);
  void AddNamed(absl::string_view key, absl::string_view text);

  const TimelineSource& source_;
  const Program& program_;
  PerfettoWriter& writer_;
  const ArgumentKey start_, duration_, rank_, phase_, micro_batch_, chunk_,
      layer_, slowed_, congestion_, rate_, busy_, kernels_key_, cause_,
      to_start_;
  std::vector<EventArgument> arguments_;
  std::vector<EventArgument> common_;
  std::string encoded_;  // of what is not kept
  const TaskSpan* marked_ = nullptr;
  const Mark* mark_ = nullptr;
  absl::flat_hash_map<std::pair<const KernelWork*, int64_t>, std::string>
      kernels_;
  absl::flat_hash_map<CallId, std::string> calls_;
  absl::flat_hash_map<std::tuple<NameId, WorkPhase, bool>, EventName> names_;
};

}  // namespace orrery
