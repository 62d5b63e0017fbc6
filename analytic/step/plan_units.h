#pragma once
// PlanUnits: the units of a plan's stages (embedding, layers, head), each with
// its time, memory and parameters on paper.
//
//   const PlanUnits units(model, plan, place, waited, prices, spans);
//   for (const int id : units.of_stage(0)) units[id].time;
//
// Layers of the same kind share an estimate.
#include <absl/types/span.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "analytic/step/price_list.h"
#include "analytic/step/unit_estimate.h"
#include "base/units.h"
#include "workload/model/model.h"
#include "workload/plan/stage.h"
#include "workload/plan/training_plan.h"

namespace orrery {

class PlanUnits {
 public:
  struct Unit {
    UnitEstimate time;
    Bytes kept;
    Bytes recomputed;
    RankParameters parameters;
    // Ops and exchanges of its passes.
    int forward_tasks = 0;
    int backward_tasks = 0;
    // Not what stands before the first layer or after the last.
    bool is_layer = true;
  };

  // Of the ranks at a place of their expert groups. `keeps_ops`: ops() is asked
  // for.
  PlanUnits(const Model& model, const TrainingPlan& plan, int expert_place,
            DimensionSet waited, PriceList& prices, const ExchangeSpans& spans,
            bool keeps_ops = false);

  const Unit& operator[](int id) const {
    return units_[static_cast<size_t>(id)];
  }
  const LayerOps& ops(int id) const { return ops_[static_cast<size_t>(id)]; }
  // The plan as the unit sees it, with what it computes again.
  const TrainingPlan& PlanOf(int id) const {
    return recomputes_[static_cast<size_t>(id)] ? plan_ : keeping_;
  }
  // In the order of the forward pass.
  absl::Span<const int> of_stage(int stage) const {
    const auto i = static_cast<size_t>(stage);
    return absl::MakeConstSpan(ids_).subspan(begin_[i],
                                             begin_[i + 1] - begin_[i]);
  }
  // The last stage holds a copy of the embedding of the first.
  bool ties_stages() const { return ties_stages_; }

 private:
  // Units that do the same.
  struct LayerKind {
    bool moe;
    std::optional<int> window;
    bool recomputes;
    int unit;
  };

  int Add(const LayerOps& ops, const RankParameters& parameters,
          bool recomputes = true);
  // The same work again; its parameters were counted elsewhere.
  int Repeat(int unit);
  int Layer(int layer, bool recomputes);
  void AddPredictionModules(int head);

  const Model& model_;
  const TrainingPlan& plan_;
  TrainingPlan keeping_;  // for layers that are not recomputed
  DimensionSet waited_;
  PriceList& prices_;
  const ExchangeSpans& spans_;
  LayerShape shape_;
  bool keeps_ops_;
  bool ties_stages_ = false;
  std::vector<Unit> units_;
  std::vector<bool> recomputes_;  // by unit
  std::vector<LayerOps> ops_;     // the same, if they are kept
  std::vector<LayerKind> kinds_;
  std::vector<int> ids_;       // of all stages
  std::vector<size_t> begin_;  // of each stage in `ids_`, and the end
};

}  // namespace orrery
