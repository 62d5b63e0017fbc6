#pragma once
// RecordedTimeline: all that the timeline of a scenario's run is drawn from.
//
//   const RecordedTimeline recorded(scenario, WholeOf(scenario, run));
//   Timeline(recorded.source(), options).Write(writer);
#include <string>
#include <vector>

#include "base/units.h"
#include "run/scenario.h"
#include "run/simulated_run.h"
#include "sim/analysis/critical_path.h"
#include "sim/analysis/span_index.h"
#include "traces/timeline/timeline_selection.h"
#include "traces/timeline/timeline_source.h"

namespace orrery {

// One of several pools of chips, each with a run of its own.
struct TracedPool {
  std::string name;
  const SimulatedRun& run;
  const System& system;
  const Kernels& kernels;
  // When it begins.
  Time from{};
};
// All chips of a scenario as one.
TracedPool WholeOf(const ResolvedScenario& scenario, const SimulatedRun& run);

class RecordedTimeline {
 public:
  // Scenario, run and machine outlive this. Of a run whose window alone was
  // recorded, the critical path leads to the last task before `until`.
  // Requires: the run was recorded.
  RecordedTimeline(const ResolvedScenario& scenario, const TracedPool& pool,
                   Time until = Time::max());
  RecordedTimeline(const RecordedTimeline&) = delete;
  RecordedTimeline& operator=(const RecordedTimeline&) = delete;

  const TimelineSource& source() const { return source_; }
  const std::vector<PathStep>& path() const { return path_; }

 private:
  const SpanIndex spans_;
  const std::vector<PathStep> path_;
  const GroupSizes sizes_;
  const TimelineSource source_;
};

// How many ranks are in each group of the machine.
GroupSizes GroupSizesOf(const SimulatedRun& run);

}  // namespace orrery
