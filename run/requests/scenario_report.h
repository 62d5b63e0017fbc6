#pragma once
// The report of any scenario, whatever kind of plan it has: for those who ask
// many scenarios the same question.
#include <absl/status/statusor.h>

#include "proto/report.pb.h"
#include "run/scenario.h"
#include "run/simulated_run.h"

namespace orrery {

// Simulated: a step, or a request with its prefill and decode steps; with what
// it costs.
absl::StatusOr<pb::Report> ReportScenario(const ResolvedScenario& scenario,
                                          const RunOptions& options);

// The same by closed forms alone. The memory of training is the closed form's.
absl::StatusOr<pb::Report> EstimateReport(const ResolvedScenario& scenario);

}  // namespace orrery
