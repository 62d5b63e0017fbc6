#pragma once
// PassUnits: a step of an inference engine as templates, written once per kind
// of layer.
//
// A stage is a list of units, as in training: the embedding, layers, the head;
// then, where the model's own modules guess drafts, for each draft the
// module's input, its block and the head again.
#include <vector>

#include "base/units.h"
#include "workload/lowering/pass_template.h"
#include "workload/model/model.h"
#include "workload/plan/inference_pass.h"
#include "workload/plan/inference_plan.h"

namespace orrery {

struct PassUnits {
  struct Unit {
    int pass = 0;  // a place in `templates`
    int layer = -1;
  };
  std::vector<PassTemplate> templates;
  std::vector<std::vector<Unit>> of_stage;
  // What a rank sends to the next stage, of one part.
  Bytes boundary;
};

// Of ranks at the given place of their expert groups.
PassUnits MakePassUnits(const Model& model, const InferencePlan& plan,
                        const InferencePass& pass, int expert_place,
                        OpTimer timer, const PassOptions& options,
                        TaskTable& table);

}  // namespace orrery
