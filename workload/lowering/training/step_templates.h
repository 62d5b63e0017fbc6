#pragma once
// StepTemplates: every pass that occurs in a training step, written once.
//
// A stage is a list of units: the embedding, layers, the head. Units of the
// same kind share their templates, so a model of 126 equal layers has three.
#include <vector>

#include "base/units.h"
#include "workload/lowering/pass_template.h"
#include "workload/plan/collective_buffers.h"
#include "workload/plan/memory.h"
#include "workload/plan/schedule.h"
#include "workload/plan/stage.h"
#include "workload/plan/training_plan.h"

namespace orrery {

struct UnitTemplate {
  PassTemplate forward;
  // Either the whole backward pass or its two parts, as the schedule needs.
  PassTemplate backward;
  PassTemplate input_gradient;
  PassTemplate weight_gradient;
  // What the host takes to start each pass, what is computed again with the
  // gradient of the input.
  Duration forward_launch{};
  Duration input_gradient_launch{};
  Duration weight_gradient_launch{};
  // Bytes from forward to backward, and those that exist only in the backward
  // pass because they are computed again.
  Bytes kept;
  Bytes recomputed;
  RankParameters parameters;
  UnitCalls calls;

  const PassTemplate& Pass(PipelinePass pass) const;
  Duration LaunchTime(PipelinePass pass) const;
};

// One unit of a stage: its template, and its layer if it is one.
struct StageUnit {
  int unit = 0;
  int layer = -1;
};

struct StepTemplates {
  std::vector<UnitTemplate> units;
  std::vector<Stage> stages;
  std::vector<std::vector<StageUnit>> of_stage;
  // What a rank sends to the next stage, per micro-batch, and what its tensor
  // ranks gather there, if they do.
  Bytes boundary;
  Bytes gathered_boundary;
};

// Of ranks at the given place of their expert groups.
StepTemplates MakeStepTemplates(const Model& model, const TrainingPlan& plan,
                                int expert_place, OpTimer timer,
                                const PassOptions& options, TaskTable& table);

// Whether the schedule of the plan runs weight gradients by themselves, always
// or sometimes.
bool SplitsBackward(PipelineSchedule schedule);

// What a rank sends between stages: the hidden state of a micro-batch, of which
// a context rank has its share, and a tensor rank with sequence parallelism; or
// sends one, if the receivers gather.
Bytes BoundaryBytes(const Model& model, const TrainingPlan& plan);

}  // namespace orrery
