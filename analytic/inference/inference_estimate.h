#pragma once
// The time of an inference engine's steps, on paper.
//
// Sums of op times and of the closed forms of collectives; the host as a second
// clock that runs ahead of the chip, or not; pipelines by their slowest stage.
// It knows neither task graphs nor queues nor links, which is what makes it a
// check.
//
//   ASSIGN_OR_RETURN(InferenceEstimator estimator,
//                    InferenceEstimator::Create(model, system, kernels));
//   estimator.Step(plan, DecodePass(plan, 4096)).step_s();
//   estimator.Request(plan).end_to_end_s;
#include <absl/status/statusor.h>

#include <utility>
#include <vector>

#include "analytic/step/price_list.h"
#include "analytic/step/step_estimate.h"
#include "topology/machine/kernels.h"
#include "topology/machine/system.h"
#include "workload/model/model.h"
#include "workload/plan/inference_pass.h"
#include "workload/plan/inference_plan.h"

namespace orrery {

// Seconds of a static batch.
struct RequestEstimate {
  double prefill_s = 0;
  // Of all decode steps together, and of one on the mean.
  double decode_s = 0;
  double step_s = 0;
  // Of a decode step that the first token waits for, and per token after it.
  double first_s = 0;
  double token_s = 0;
  double end_to_end_s() const { return prefill_s + decode_s; }
};

class InferenceEstimator {
 public:
  // Model and system must outlive the estimator.
  static absl::StatusOr<InferenceEstimator> Create(
      const Model& model, const System& system, const Kernels& kernels,
      Others others = Others::kAlike);

  // Terms of the stage with most work. Memory is the plan's, at the end of the
  // request.
  StepEstimate Step(const InferencePlan& plan, const InferencePass& pass,
                    const EstimateOptions& options = {});
  RequestEstimate Request(const InferencePlan& plan,
                          const EstimateOptions& options = {});
  // The same with a prefill elsewhere, that takes so long.
  RequestEstimate Request(const InferencePlan& plan, double prefill_s,
                          const EstimateOptions& options = {});
  // Passes in a row. Through a pipeline they follow one another.
  StepEstimate Steps(const InferencePlan& plan,
                     const std::vector<InferencePass>& passes,
                     const EstimateOptions& options = {});
  // The time of all prompts, with what the host does before.
  double PrefillSeconds(const InferencePlan& plan,
                        const EstimateOptions& options = {});

 private:
  double SecondsOf(const InferencePlan& plan,
                   const std::vector<InferencePass>& passes,
                   const EstimateOptions& options);

  InferenceEstimator(const Model& model, const System& system, Bytes reserved,
                     PriceList prices)
      : model_(&model),
        system_(&system),
        reserved_(reserved),
        prices_(std::move(prices)) {}

  const Model* model_;
  const System* system_;
  Bytes reserved_;
  PriceList prices_;
};

}  // namespace orrery
