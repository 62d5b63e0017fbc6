#include "analytic/step/plan_units.h"

#include <algorithm>

namespace orrery {

PlanUnits::PlanUnits(const Model& model, const TrainingPlan& plan,
                     int expert_place, const UnitSetting& setting,
                     PriceList& prices, KnownUnits& known)
    : model_(model),
      plan_(plan),
      prices_(prices),
      shape_(ShapeOf(plan, expert_place)),
      set_(known.Of(shape_, setting, prices.slowness())),
      kinds_(known.KindsOf(model)),
      unit_of_kind_(kinds_.parts.size(), {kNoUnit, kNoUnit}) {
  const Degrees& degrees = plan.degrees();
  const std::vector<Stage> stages = CutStages(model, plan.layout());
  ties_stages_ = stages.back().embedding_copy;
  begin_.reserve(stages.size() + 1);
  ids_.reserve(static_cast<size_t>(model.layers()) + stages.size());
  for (const Stage& stage : stages) {
    begin_.push_back(ids_.size());
    if (stage.embedding) {
      KnownUnit& unit = set_.Find(
          {UnitPart::What::kEmbedding},
          [&] { return BuildEmbedding(model_, shape_); }, prices_);
      ids_.push_back(
          Add(unit, ParametersOf(model, degrees, {.embedding = true})));
    }
    for (int i = 0; i < stage.layers; ++i) {
      ids_.push_back(Layer(stage.first_layer + i, plan.RecomputesLayer(i)));
    }
    if (!stage.head) continue;
    const Stage head{.head = true, .embedding_copy = stage.embedding_copy};
    KnownUnit& unit = set_.Find(
        {UnitPart::What::kHead}, [&] { return BuildHead(model_, shape_); },
        prices_);
    ids_.push_back(Add(unit, ParametersOf(model, degrees, head)));
    if (model.mtp_modules() > 0) AddPredictionModules(ids_.back());
  }
  begin_.push_back(ids_.size());
  CompareStages();
}

int PlanUnits::Add(KnownUnit& known, const RankParameters& parameters,
                   bool recomputes) {
  units_.push_back(
      {known.Totals(plan_, recomputes), parameters, recomputes, &known.ops()});
  return static_cast<int>(units_.size()) - 1;
}

int PlanUnits::Repeat(int unit) {
  Unit again = (*this)[unit];
  again.parameters = {};
  units_.push_back(again);
  return static_cast<int>(units_.size()) - 1;
}

int PlanUnits::Layer(int layer, bool recomputes) {
  const int kind = kinds_.of_layer[static_cast<size_t>(layer)];
  int& unit = unit_of_kind_[static_cast<size_t>(kind)][recomputes ? 1 : 0];
  if (unit != kNoUnit) return unit;
  KnownUnit& known = set_.Find(
      kinds_.parts[static_cast<size_t>(kind)],
      [&] { return BuildLayer(model_, layer, shape_); }, prices_);
  unit =
      Add(known, LayerParametersOf(model_, plan_.degrees(), layer), recomputes);
  return unit;
}

// Every prediction module: its input, its block, and the head again. Its
// parameters were counted with the head.
void PlanUnits::AddPredictionModules(int head) {
  KnownUnit& known = set_.Find(
      {UnitPart::What::kPredictionInput},
      [&] { return BuildPredictionInput(model_, shape_); }, prices_);
  const int input = Add(known, {});
  for (int i = 0; i < model_.mtp_modules(); ++i) {
    ids_.push_back(input);
    ids_.push_back(Repeat(Layer(model_.layers() + i, /*recomputes=*/true)));
    ids_.push_back(Repeat(head));
  }
}

void PlanUnits::CompareStages() {
  const int stages = static_cast<int>(begin_.size()) - 1;
  first_like_.reserve(begin_.size());
  for (int stage = 0; stage < stages; ++stage) {
    // Most often like the one before it.
    int like = stage > 0 ? FirstLike(stage - 1) : 0;
    if (of_stage(like) != of_stage(stage)) {
      like = 0;
      while (like < stage && of_stage(like) != of_stage(stage)) ++like;
    }
    first_like_.push_back(like);
  }
}

}  // namespace orrery
