#pragma once
// The report of an inference scenario: what a user waits for, what the machine
// gets done, whether it fits, and the middle decode step in detail.
#include <absl/status/statusor.h>

#include "proto/report.pb.h"
#include "run/inference_run.h"
#include "run/report.h"
#include "run/scenario.h"

namespace orrery {

// Simulates the request and writes its report, without what it cost to run.
absl::StatusOr<pb::Report> ReportInference(const ResolvedScenario& scenario,
                                           const InferenceOptions& options);

// Closed forms alone.
absl::StatusOr<pb::Report> EstimateInference(const ResolvedScenario& scenario);

// Rates of a batch whose steps and prefill take so long.
void FillInferenceRates(const InferencePlan& plan, pb::Report& report);

// Weights, cache, activations and buffers at the end of the request, whether
// they fit under the engine's policy, and what would.
void FillInferenceMemory(const ResolvedScenario& scenario, pb::Report& report);

}  // namespace orrery
