#pragma once
// PassTemplate: one pass of one layer as tasks, ready to be repeated.
//
// Written once per kind of layer and stamped out for every layer and
// micro-batch. Kernels that follow one another without communication between
// them become one task with the sum of their times; with `merge` off every op
// is a task of its own, for timelines.
//
// What depends on what:
//  - along the main chain every step waits for the one before it;
//  - a step marked `beside_exchange` waits for what stood before the last
//    exchange, so that both run at once; its branch joins the main chain at the
//    first op after the next exchange;
//  - the i-th op after a ring exchange waits for i of its blocks;
//  - in a backward pass weight gradients wait for the gradient that reaches
//    their module and for nothing else, which is what hides exchanges.
#include <absl/functional/function_ref.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "topology/traffic/dimension_set.h"
#include "workload/model/layer.h"
#include "workload/program/task.h"
#include "workload/program/task_table.h"
#include "workload/program/work_split.h"

namespace orrery {

// The time of one op, with its facts.
using OpTimer = absl::FunctionRef<KernelWork(const Op&)>;

struct PassTask {
  // A kernel, or an exchange with `what` in `group`.
  bool is_kernel = true;
  NameRef name{};
  WorkPhase phase = WorkPhase::kForward;
  KernelRef kernel{};
  ExchangeGroup group = ExchangeGroup::kTensor;
  Communication what{};
  // Tasks of the pass it waits for, and whether for the pass' input as well.
  std::vector<int32_t> after = {};
  bool after_input = false;
};

struct PassTemplate {
  std::vector<PassTask> tasks;
  // What the next pass waits for; none if the pass is empty.
  std::vector<int32_t> exits;
  WorkSplit work;
};

struct PassOptions {
  // What an exchange takes from each member's chip.
  ChipShare exchange_share = {};
  // Of exchanges with experts, where it is another.
  std::optional<ChipShare> expert_share = std::nullopt;
  // Kernels without communication between them become one task.
  bool merge = true;
  // Tensor-parallel exchanges run in so many pieces beside the product that
  // needs or feeds them.
  int tensor_chunks = 1;
  // The weight gradients of a module run beside the exchange of its input's
  // gradient, in a backward pass that has both.
  bool overlap_weight_gradient = true;
  // Dimensions whose communication is waited for: it waits for the task before
  // it, and the task after it for it. With all of them nothing overlaps.
  DimensionSet waited = {};
};

PassTemplate ForwardPass(const LayerOps& ops, OpTimer timer,
                         const PassOptions& options, TaskTable& table);

// Input and weight gradients, merged module by module, after the forward steps
// that run `again` (RecomputedSteps of workload/plan/stage.h).
PassTemplate BackwardPass(const LayerOps& ops,
                          const std::vector<LayerStep>& again, OpTimer timer,
                          const PassOptions& options, TaskTable& table);
// The two apart.
PassTemplate InputGradientPass(const LayerOps& ops,
                               const std::vector<LayerStep>& again,
                               OpTimer timer, const PassOptions& options,
                               TaskTable& table);
PassTemplate WeightGradientPass(const LayerOps& ops, OpTimer timer,
                                const PassOptions& options, TaskTable& table);

}  // namespace orrery
