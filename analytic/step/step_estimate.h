#pragma once
// The time and memory of a training step, on paper.
//
// Sums of op times and of the closed forms of collectives, put together by the
// formulas of the literature: bubbles of the schedules (see
// workload/plan/schedule.h), what weight gradients hide of tensor-parallel
// communication, what the backward pass hides of gradient reduction. It knows
// neither task graphs nor queues nor links, which is what makes it a check.
//
//   ASSIGN_OR_RETURN(StepEstimator estimator,
//                    StepEstimator::Create(model, system, kernels));
//   const StepEstimate estimate = estimator.Estimate(plan);
//
// An estimator remembers what kernels, calls, units and pipelines take, which
// changes no result.
#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include <memory>
#include <tuple>
#include <utility>

#include "analytic/step/group_spans.h"
#include "analytic/step/known_pipeline.h"
#include "analytic/step/known_units.h"
#include "analytic/step/price_list.h"
#include "analytic/step/step_floor.h"
#include "base/units.h"
#include "topology/machine/kernels.h"
#include "topology/machine/system.h"
#include "topology/traffic/dimension_set.h"
#include "workload/model/model.h"
#include "workload/plan/schedule.h"
#include "workload/plan/training_plan.h"

namespace orrery {

struct EstimateOptions {
  // Communication is assumed to hide where the plan lets it; of these
  // dimensions it is waited for.
  DimensionSet waited = {};
  // Where all are waited for and groups lie unlike: what each rank waits for.
  // Otherwise all groups count as the slowest of their kind.
  bool each_rank = false;
  // Memory is that of layers alone, as some papers count it.
  bool memory_of_layers = false;
  // The passes of an engine run once; otherwise a decode step through a
  // pipeline is one in a row of them, which overlap.
  bool once = false;
};

// Seconds of the rank with most work; they sum to the step.
struct StepEstimate {
  double compute_s = 0;
  // Waiting for the host: to start kernels, or between steps of an engine.
  double host_s = 0;
  // Exposed communication by dimension.
  double tensor_s = 0;
  double context_s = 0;
  double expert_s = 0;
  double pipeline_s = 0;
  double data_s = 0;
  double bubble_s = 0;
  double optimizer_s = 0;
  // No simulation is shorter (StepEstimator::LowerBound).
  double lower_s = 0;
  Bytes peak;
  // What the framework's allocator holds then, with what libraries keep.
  Bytes reserved;
  // What it holds on the first pipeline rank, without what libraries keep.
  Bytes first_held;
  Flops recomputed;  // of all ranks

  // Of one after the other.
  StepEstimate& operator+=(const StepEstimate& other);
  double communication_s() const {
    return tensor_s + context_s + expert_s + pipeline_s + data_s;
  }
  double step_s() const {
    return compute_s + communication_s() + bubble_s + optimizer_s + host_s;
  }
};

class StepEstimator {
 public:
  // Model and system must outlive the estimator. `others`: groups that do the
  // same share what is between leaves and spines, or each has it to itself, as
  // at fidelity CLOSED_FORM.
  static absl::StatusOr<StepEstimator> Create(const Model& model,
                                              const System& system,
                                              const Kernels& kernels,
                                              Others others = Others::kAlike);

  StepEstimate Estimate(const TrainingPlan& plan,
                        const EstimateOptions& options = {});
  // Seconds of the plan's kernels, spread evenly over its pipeline ranks: no
  // plan that runs the same kernels on as many chips takes less, whatever its
  // schedule, sharding and recomputation. Requires: the plan computes nothing
  // again.
  double KernelFloor(const TrainingPlan& plan);
  // Less than the lower bound and the memory of an estimate, and sooner known.
  StepFloor Floor(const TrainingPlan& plan);
  // No simulation of the plan is shorter: passes, transfers and reductions take
  // what they do with chip and links to themselves, and wait for no more than
  // they must. A sum of the calls' closed forms, which are held to 0.1 %.
  double LowerBound(const TrainingPlan& plan);
  // What its passes take, for schedules that are made from it; nothing for
  // others.
  PassProfile ProfileOf(const TrainingPlan& plan);

 private:
  StepEstimator(const Model& model, const System& system, Bytes reserved,
                PriceList prices)
      : model_(&model),
        system_(&system),
        reserved_(reserved),
        prices_(std::make_unique<PriceList>(std::move(prices))) {}

  using OrderKey = std::tuple<PipelineSchedule, int, int, int, PassProfile>;
  KnownPipeline& PipelineOf(const TrainingPlan& plan);
  PlanUnits UnitsOf(const TrainingPlan& plan);
  GroupSpans& SpansOf(const TrainingPlan& plan);

  const Model* model_;
  const System* system_;
  Bytes reserved_;  // memory of the libraries
  std::unique_ptr<PriceList> prices_;
  KnownSpans spans_;
  KnownUnits units_;
  absl::flat_hash_map<OrderKey, std::unique_ptr<KnownPipeline>> pipelines_;
};

}  // namespace orrery
