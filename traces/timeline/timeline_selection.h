#pragma once
// What part of a run a timeline shows.
#include <absl/types/span.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/simulation_ids.h"
#include "base/units.h"
#include "sim/analysis/critical_path.h"
#include "traces/format/span.h"
#include "workload/program/program.h"

namespace orrery {

enum class TimelineDetail : uint8_t {
  kStep,   // the step and its passes
  kLayer,  // and the layers in them
  kOp,     // and every task
};

struct TimelineOptions {
  std::vector<RankId> ranks;  // whose tracks are shown
  Time from{};
  Time to = Time::max();
  TimelineDetail detail = TimelineDetail::kOp;
};

// One rank of each role, the lowest: ranks of a role do the same.
std::vector<RankId> OneRankPerRole(const Program& program);

// Of the ranks that the path runs on, those that matter most, at most `limit`;
// in the order of ranks.
std::vector<RankId> RanksOfPath(const std::vector<PathStep>& path,
                                size_t limit);
inline constexpr size_t kMostPathRanks = 8;

// Which spans of which ranks are shown, as a quick question.
class TimelineSelection {
 public:
  // `end` is that of the run.
  TimelineSelection(const Program& program, const TimelineOptions& options,
                    Time end);

  bool Shows(RankId rank) const { return shown_[rank]; }
  // If it runs in the window. Markers take no time and are not shown.
  bool Shows(const TaskSpan& span) const {
    return shown_[span.rank] && span.kind != SpanKind::kMarker &&
           Shows(span.started, span.ended);
  }
  // Whichever rank it runs on.
  bool Shows(const PathStep& step) const {
    return Shows(step.span.started, step.span.ended);
  }
  bool Shows(Time begin, Time end) const { return begin < to_ && end > from_; }

  TimelineDetail detail() const { return detail_; }
  // The window: nothing is drawn outside of it.
  Time from() const { return from_; }
  Time to() const { return to_; }
  Time Clip(Time at) const { return std::clamp(at, from_, to_); }

 private:
  IdVector<RankId, bool> shown_;
  Time from_;
  Time to_;
  TimelineDetail detail_;
};

// How many ranks are in each group of the machine: a folded program simulates
// some of them only.
using GroupSizes = IdVector<GroupId, int32_t>;
// Where nothing is folded.
GroupSizes SimulatedGroupSizes(const Program& program);

// Above this a viewer takes minutes and gigabytes to open the file.
inline constexpr int64_t kManySlices = 5'000'000;

}  // namespace orrery
