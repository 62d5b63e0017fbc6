#pragma once
// PassOps: what the stages of an inference engine run in a pass, unit by unit
// (embedding, layers, head, drafts).
//
//   const PassOps pass = MakePassOps(model, plan, pass, layout, place);
//   for (const UnitRow& row : pass.stages[0]) pass.ops[row.unit];
//
// Layers of the same kind share their ops.
#include <cstddef>
#include <vector>

#include "workload/model/layer.h"
#include "workload/model/model.h"
#include "workload/plan/inference_pass.h"
#include "workload/plan/inference_plan.h"

namespace orrery {

// So many units alike, one after the other.
struct UnitRow {
  size_t unit = 0;
  int times = 1;
};

struct PassOps {
  std::vector<LayerOps> ops;                 // by unit
  std::vector<std::vector<UnitRow>> stages;  // in the order of execution
};

// Of the ranks at a place of their expert groups.
PassOps MakePassOps(const Model& model, const InferencePlan& plan,
                    const InferencePass& pass, const ParallelLayout& layout,
                    int expert_place);

}  // namespace orrery
