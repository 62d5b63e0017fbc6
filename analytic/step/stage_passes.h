#pragma once
// Passes of a stage as rows of units, with the weights that are gathered and
// the gradients that are reduced among them, on paper.
//
// A unit waits for its weights. These come one unit ahead where the plan lets
// them: a gather starts when the pass before the last has ended. Gathers follow
// one another, and so do reductions, each of which starts when the gradients of
// its bucket are there. Both take the same links: where a gather meets a
// reduction, and the two together keep a line busy for more than the time there
// is, each takes longer by what does not fit.
//
//   StageTimes times = ComposeStage({.plan = plan, .question = data,
//                                    .units = units, .traffic = traffic});
#include <absl/types/span.h>

#include "analytic/step/data_estimate.h"
#include "analytic/step/pass_delays.h"
#include "analytic/step/pipeline_clock.h"

namespace orrery {

struct StageQuestion {
  const DataQuestion& data;
  // In the order of the forward pass.
  absl::Span<const PassSet* const> units = {};
  const PieceTraffic& traffic;
  // Seconds of gathers for pieces whose first pass comes before.
  double gathered_before = 0;
  // No call takes less, and meets none.
  bool least = false;
};

// Delays of its passes and of its reductions.
StageTimes ComposeStage(const StageQuestion& question);

}  // namespace orrery
