#pragma once
// RankKinds: what the pipeline ranks of a plan do, those that do the same
// looked at once. Most often there are three: the first rank, the last, and all
// others.
//
//   const RankKinds kinds(question);
//   kinds.of(rank).work;
//   kinds.stages();
#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "analytic/step/data_estimate.h"
#include "analytic/step/known_pipeline.h"
#include "analytic/step/pipeline_clock.h"
#include "analytic/step/plan_units.h"
#include "analytic/step/slow_stages.h"
#include "analytic/step/unit_estimate.h"

namespace orrery {

// All must outlive the kinds.
struct RankQuestion {
  const Model& model;
  const TrainingPlan& plan;
  const Placement& placement;
  const KnownPipeline& pipeline;
  const PlanUnits& units;
  AskedSpans& spans;
  PriceList& prices;
  // Reductions and gathers hide where the plan lets them.
  bool overlap = true;
  // So do calls of layers in passes that take turns.
  bool pairs_hide = true;
  const SlowStages& slow;
};

struct RankKind {
  int first;  // of the ranks
  // For one micro-batch.
  UnitEstimate work;
  DataQuestion question;
  DataTimes data = {};
  DataTimes least_data = {};
  // Seconds of the step in which its kernels wait for calls of its layers, and
  // for its weights and gradients.
  double exposed = 0;
  double waits_for_data = 0;
};

// Times of the stages of a pipeline: those that do the same stand here once.
struct StageKinds {
  std::vector<StageTimes> kinds;
  std::vector<uint16_t> of_stage;
  // See PipelineTimes::pairs.
  std::vector<PairDelays> pairs;
};

class RankKinds {
 public:
  explicit RankKinds(const RankQuestion& question);

  int ranks() const { return static_cast<int>(of_rank_.size()); }
  const RankKind& of(int rank) const {
    return kinds_[static_cast<size_t>(of_rank_[static_cast<size_t>(rank)])];
  }
  // In the order of their first ranks.
  absl::Span<const RankKind> kinds() const { return kinds_; }
  const StageKinds& stages() const { return stages_; }
  // With calls that take the least they may.
  const StageKinds& least_stages() const { return least_stages_; }

 private:
  std::vector<RankKind> kinds_;
  std::vector<int> of_rank_;
  StageKinds stages_;
  StageKinds least_stages_;
};

// What a rank does for one micro-batch: all its pieces, or on a bidirectional
// layout, where a micro-batch sees one of two, their mean.
UnitEstimate WorkOfRank(const StageLayout& layout, const PlanUnits& units,
                        int rank);

}  // namespace orrery
