#pragma once
// What part of a run a timeline shows, and how much that is.
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
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

// Which spans of which ranks are shown, as a quick question.
class TimelineSelection {
 public:
  TimelineSelection(const Program& program, const TimelineOptions& options);

  bool Shows(RankId rank) const { return shown_[rank]; }
  // Whole, if it runs or waits in the window. Markers take no time and are not
  // shown.
  bool Shows(const TaskSpan& span) const {
    return shown_[span.rank] && span.kind != SpanKind::kMarker &&
           span.headed < to_ && span.ended > from_;
  }
  // Whichever rank it runs on.
  bool Shows(const PathStep& step) const {
    return step.span.started < to_ && step.span.ended >= from_;
  }
  TimelineDetail detail() const { return detail_; }

 private:
  IdVector<RankId, bool> shown_;
  Time from_;
  Time to_;
  TimelineDetail detail_;
};

// Where a task belongs on its track: a pass of a micro-batch, then a layer.
// Recomputation and weight gradients belong to the backward pass where they run
// with it.
struct TimelinePlace {
  WorkPhase phase = WorkPhase::kOther;
  std::optional<int32_t> micro_batch;
  std::optional<int32_t> layer;
  bool SamePass(const TimelinePlace& other) const {
    return PassPhase(phase) == PassPhase(other.phase) &&
           micro_batch == other.micro_batch;
  }
  bool SameLayer(const TimelinePlace& other) const {
    return SamePass(other) && layer == other.layer;
  }
  static WorkPhase PassPhase(WorkPhase phase) {
    return phase == WorkPhase::kRecompute || phase == WorkPhase::kWeightGradient
               ? WorkPhase::kBackward
               : phase;
  }
};
TimelinePlace PlaceOf(const Program& program, const TaskSpan& span);

// The slices that WriteTimeline will write for these spans and this critical
// path.
int64_t CountSlices(const Program& program, absl::Span<const TaskSpan> spans,
                    const std::vector<PathStep>& path,
                    const TimelineOptions& options);

// How many ranks are in each group of the machine: a folded program simulates
// some of them only.
using GroupSizes = IdVector<GroupId, int32_t>;
// Where nothing is folded.
GroupSizes SimulatedGroupSizes(const Program& program);

// Above this a viewer takes minutes and gigabytes to open the file.
inline constexpr int64_t kManySlices = 5'000'000;

}  // namespace orrery
