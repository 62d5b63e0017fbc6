#pragma once
// PlanUnits: the units of a plan's stages (embedding, layers, head), each with
// its time, memory and parameters on paper.
//
//   const PlanUnits units(model, plan, place, setting, prices, known);
//   for (const int id : units.of_stage(0)) units[id].time;
//
// Layers of the same kind share an estimate.
#include <absl/types/span.h>

#include <array>
#include <cstddef>
#include <vector>

#include "analytic/step/known_units.h"
#include "analytic/step/price_list.h"
#include "analytic/step/priced_unit.h"
#include "workload/model/model.h"
#include "workload/plan/stage.h"
#include "workload/plan/training_plan.h"

namespace orrery {

class PlanUnits {
 public:
  struct Unit : UnitTotals {
    RankParameters parameters;
    // It computes again what the plan does.
    bool recomputes = true;
    const LayerOps* ops = nullptr;
  };

  // Of the ranks at a place of their expert groups. `known` must not be trimmed
  // while the units are in use.
  PlanUnits(const Model& model, const TrainingPlan& plan, int expert_place,
            const UnitSetting& setting, PriceList& prices, KnownUnits& known);

  const Unit& operator[](int id) const {
    return units_[static_cast<size_t>(id)];
  }
  // By id.
  absl::Span<const Unit> all() const { return units_; }
  // In the order of the forward pass.
  absl::Span<const int> of_stage(int stage) const {
    const auto i = static_cast<size_t>(stage);
    return absl::MakeConstSpan(ids_).subspan(begin_[i],
                                             begin_[i + 1] - begin_[i]);
  }
  // The first stage that has the same units.
  int FirstLike(int stage) const {
    return first_like_[static_cast<size_t>(stage)];
  }
  const LayerShape& shape() const { return shape_; }
  // The last stage holds a copy of the embedding of the first.
  bool ties_stages() const { return ties_stages_; }

 private:
  static constexpr int kNoUnit = -1;

  int Add(KnownUnit& known, const RankParameters& parameters,
          bool recomputes = true);
  // The same work again; its parameters were counted elsewhere.
  int Repeat(int unit);
  int Layer(int layer, bool recomputes);
  void AddPredictionModules(int head);
  void CompareStages();

  const Model& model_;
  const TrainingPlan& plan_;
  PriceList& prices_;
  LayerShape shape_;
  UnitSet& set_;
  bool ties_stages_ = false;
  std::vector<Unit> units_;
  const LayerKinds& kinds_;
  // By kind of layer, with and without recomputation; kNoUnit: not met yet.
  std::vector<std::array<int, 2>> unit_of_kind_;
  std::vector<int> ids_;         // of all stages
  std::vector<size_t> begin_;    // of each stage in `ids_`, and the end
  std::vector<int> first_like_;  // of each stage
};

}  // namespace orrery
