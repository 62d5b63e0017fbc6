#include "analytic/step/plan_units.h"

#include <algorithm>

namespace orrery {
namespace {

// The blocks of a ring are exchanged one by one.
int CountTasks(const std::vector<LayerStep>& steps) {
  int count = 0;
  for (const LayerStep& step : steps) {
    count += step.exchange() == nullptr ? 1 : step.exchange()->steps;
  }
  return count;
}

}  // namespace

PlanUnits::PlanUnits(const Model& model, const TrainingPlan& plan,
                     int expert_place, DimensionSet waited, PriceList& prices,
                     const ExchangeSpans& spans, bool keeps_ops)
    : model_(model),
      plan_(plan),
      keeping_(plan.WithoutRecompute()),
      waited_(waited),
      prices_(prices),
      spans_(spans),
      shape_(ShapeOf(plan, expert_place)),
      keeps_ops_(keeps_ops) {
  const Degrees& degrees = plan.degrees();
  const std::vector<Stage> stages = CutStages(model, plan.layout());
  ties_stages_ = stages.back().embedding_copy;
  begin_.reserve(stages.size() + 1);
  ids_.reserve(static_cast<size_t>(model.layers()) + stages.size());
  for (const Stage& stage : stages) {
    begin_.push_back(ids_.size());
    if (stage.embedding) {
      ids_.push_back(Add(BuildEmbedding(model, shape_),
                         ParametersOf(model, degrees, {.embedding = true})));
    }
    for (int i = 0; i < stage.layers; ++i) {
      ids_.push_back(Layer(stage.first_layer + i, plan.RecomputesLayer(i)));
    }
    if (!stage.head) continue;
    const Stage head{.head = true, .embedding_copy = stage.embedding_copy};
    ids_.push_back(
        Add(BuildHead(model, shape_), ParametersOf(model, degrees, head)));
    if (model.mtp_modules() > 0) AddPredictionModules(ids_.back());
  }
  begin_.push_back(ids_.size());
}

int PlanUnits::Add(const LayerOps& ops, const RankParameters& parameters,
                   bool recomputes) {
  const TrainingPlan& plan = recomputes ? plan_ : keeping_;
  const Bytes kept = KeptBytes(ops, plan);
  units_.push_back({.time = EstimateUnit(ops, plan, waited_, prices_, spans_),
                    .kept = kept,
                    .recomputed = orrery::KeptBytes(ops, kNoModule) - kept,
                    .parameters = parameters,
                    .forward_tasks = CountTasks(ops.forward),
                    .backward_tasks = CountTasks(ops.input_gradient) +
                                      CountTasks(ops.weight_gradient) +
                                      CountTasks(RecomputedSteps(ops, plan)),
                    .is_layer = ops.checkpointed});
  recomputes_.push_back(recomputes);
  if (keeps_ops_) ops_.push_back(ops);
  return static_cast<int>(units_.size()) - 1;
}

int PlanUnits::Repeat(int unit) {
  Unit again = (*this)[unit];
  again.parameters = {};
  units_.push_back(again);
  recomputes_.push_back(recomputes_[static_cast<size_t>(unit)]);
  if (keeps_ops_) ops_.push_back(LayerOps(ops(unit)));
  return static_cast<int>(units_.size()) - 1;
}

int PlanUnits::Layer(int layer, bool recomputes) {
  const bool moe = model_.IsMoe(layer);
  const std::optional<int> window = model_.Window(layer);
  for (const LayerKind& kind : kinds_) {
    if (kind.moe == moe && kind.window == window &&
        kind.recomputes == recomputes) {
      return kind.unit;
    }
  }
  const int unit =
      Add(BuildLayer(model_, layer, shape_),
          LayerParametersOf(model_, plan_.degrees(), layer), recomputes);
  kinds_.push_back({moe, window, recomputes, unit});
  return unit;
}

// Every prediction module: its input, its block, and the head again. Its
// parameters were counted with the head.
void PlanUnits::AddPredictionModules(int head) {
  const int input = Add(BuildPredictionInput(model_, shape_), {});
  for (int i = 0; i < model_.mtp_modules(); ++i) {
    ids_.push_back(input);
    ids_.push_back(Repeat(Layer(model_.layers() + i, /*recomputes=*/true)));
    ids_.push_back(Repeat(head));
  }
}

}  // namespace orrery
