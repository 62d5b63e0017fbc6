#include "workload/lowering/training/step_templates.h"

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "workload/model/parameters.h"
#include "workload/plan/host_time.h"

namespace orrery {
namespace {

class TemplateMaker {
 public:
  TemplateMaker(const Model& model, const TrainingPlan& plan, int expert_place,
                OpTimer timer, const PassOptions& options, TaskTable& table)
      : model_(model),
        plan_(plan),
        keeping_(plan.WithoutRecompute()),
        shape_(ShapeOf(plan, expert_place)),
        timer_(timer),
        options_(options),
        table_(table) {}

  StepTemplates Make() {
    StepTemplates step;
    step.stages = CutStages(model_, plan_.layout());
    step.boundary = BoundaryBytes(model_, plan_);
    if (plan_.scatter_pipeline()) {
      step.gathered_boundary = step.boundary * plan_.degrees().tensor;
    }
    for (const Stage& stage : step.stages) {
      auto& units = step.of_stage.emplace_back();
      if (stage.embedding) {
        units.push_back({Add(step, BuildEmbedding(model_, shape_),
                             EndParameters({.embedding = true}))});
      }
      for (int i = 0; i < stage.layers; ++i) {
        const int layer = stage.first_layer + i;
        units.push_back(
            {LayerUnit(step, layer, plan_.RecomputesLayer(i)), layer});
      }
      if (stage.head) AddHead(step, stage, units);
    }
    return step;
  }

 private:
  RankParameters EndParameters(const Stage& stage) const {
    return ParametersOf(model_, plan_.degrees(), stage);
  }

  void AddHead(StepTemplates& step, const Stage& stage,
               std::vector<StageUnit>& units) {
    const Stage head{.head = true, .embedding_copy = stage.embedding_copy};
    RankParameters parameters = EndParameters(head);
    const int modules = model_.mtp_modules();
    const int head_unit = Add(step, BuildHead(model_, shape_), parameters);
    units.push_back({head_unit});
    if (modules == 0) return;
    // Every prediction module: its input, its block, and the head again. Its
    // parameters were counted with the head.
    const int input =
        Add(step, BuildPredictionInput(model_, shape_), RankParameters{});
    for (int i = 0; i < modules; ++i) {
      const int layer = model_.layers() + i;
      units.push_back({input, layer});
      units.push_back(
          {Add(step, BuildLayer(model_, layer, shape_), RankParameters{}),
           layer});
      units.push_back(
          {Add(step, BuildHead(model_, shape_), RankParameters{}), layer});
    }
  }

  int LayerUnit(StepTemplates& step, int layer, bool recomputes) {
    const auto kind =
        std::tuple(model_.IsMoe(layer), model_.Window(layer), recomputes);
    const auto [it, added] = layers_.try_emplace(kind, 0);
    if (added) {
      it->second = Add(step, BuildLayer(model_, layer, shape_),
                       LayerParametersOf(model_, plan_.degrees(), layer),
                       recomputes ? plan_ : keeping_);
    }
    return it->second;
  }

  int Add(StepTemplates& step, const LayerOps& ops,
          const RankParameters& parameters) {
    return Add(step, ops, parameters, plan_);
  }

  int Add(StepTemplates& step, const LayerOps& ops,
          const RankParameters& parameters, const TrainingPlan& plan) {
    const std::vector<LayerStep> again = RecomputedSteps(ops, plan);
    UnitTemplate unit;
    unit.forward = ForwardPass(ops, timer_, options_, table_);
    if (SplitsBackward(plan_.schedule())) {
      unit.input_gradient =
          InputGradientPass(ops, again, timer_, options_, table_);
      unit.weight_gradient = WeightGradientPass(ops, timer_, options_, table_);
    }
    unit.backward = BackwardPass(ops, again, timer_, options_, table_);
    unit.forward_launch = LaunchTime(ops.forward, plan);
    unit.input_gradient_launch =
        LaunchTime(ops.input_gradient, plan) + LaunchTime(again, plan);
    unit.weight_gradient_launch = LaunchTime(ops.weight_gradient, plan);
    unit.kept = KeptBytes(ops, plan);
    unit.recomputed = orrery::KeptBytes(ops, kNoModule) - unit.kept;
    unit.parameters = parameters;
    unit.calls = CallsOf(ops, plan);
    step.units.push_back(std::move(unit));
    return static_cast<int>(step.units.size()) - 1;
  }

  const Model& model_;
  const TrainingPlan& plan_;
  TrainingPlan keeping_;  // for layers that are not recomputed
  LayerShape shape_;
  OpTimer timer_;
  PassOptions options_;
  TaskTable& table_;
  std::map<std::tuple<bool, std::optional<int>, bool>, int> layers_;
};

}  // namespace

const PassTemplate& UnitTemplate::Pass(PipelinePass pass) const {
  switch (pass) {
    case PipelinePass::kForward:
      return forward;
    case PipelinePass::kBackward:
      return backward;
    case PipelinePass::kInputGradient:
      return input_gradient;
    case PipelinePass::kWeightGradient:
      return weight_gradient;
  }
  CHECK(false) << "no such pass";
  return forward;
}

Duration UnitTemplate::LaunchTime(PipelinePass pass) const {
  switch (pass) {
    case PipelinePass::kForward:
      return forward_launch;
    case PipelinePass::kBackward:
      return input_gradient_launch + weight_gradient_launch;
    case PipelinePass::kInputGradient:
      return input_gradient_launch;
    case PipelinePass::kWeightGradient:
      return weight_gradient_launch;
  }
  CHECK(false) << "no such pass";
  return Duration(0);
}

bool SplitsBackward(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::kZeroBubbleH1 ||
         schedule == PipelineSchedule::kZeroBubbleV ||
         schedule == PipelineSchedule::kDualPipe;
}

Bytes BoundaryBytes(const Model& model, const TrainingPlan& plan) {
  const LayerShape shape = ShapeOf(plan);
  const int64_t whole = shape.tokens() * model.hidden();
  const bool shared = shape.sequence_parallel || plan.scatter_pipeline();
  return StorageBytes(shape.activation, shared ? whole / shape.tensor : whole);
}

StepTemplates MakeStepTemplates(const Model& model, const TrainingPlan& plan,
                                int expert_place, OpTimer timer,
                                const PassOptions& options, TaskTable& table) {
  return TemplateMaker(model, plan, expert_place, timer, options, table).Make();
}

}  // namespace orrery
