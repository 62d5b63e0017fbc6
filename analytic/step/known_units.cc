#include "analytic/step/known_units.h"

#include <absl/hash/hash.h>

#include <algorithm>

#include "analytic/step/pass_walk.h"
#include "workload/plan/stage.h"

namespace orrery {
namespace {

// Some ten thousand bytes each.
constexpr size_t kMostSets = 128;
constexpr size_t kMostWays = 64;

// The blocks of a ring are exchanged one by one.
int CountTasks(const std::vector<LayerStep>& steps) {
  int count = 0;
  for (const LayerStep& step : steps) {
    count += step.exchange() == nullptr ? 1 : step.exchange()->steps;
  }
  return count;
}

UnitTotals TotalsOf(const PricedUnit& unit, const TrainingPlan& plan,
                    const UnitSetting& setting) {
  const LayerOps& ops = unit.ops;
  const Bytes kept = KeptBytes(ops, plan);
  PassSet passes, least;
  LaunchTails tails, least_tails;
  const auto walk = [&](PassDelays PassSet::*delays,
                        PassMoment LaunchTails::*tail, PipelinePass pass) {
    PassTasks tasks =
        TasksOf({.unit = unit, .plan = plan, .chunks = setting.chunks}, pass);
    const WalkOptions as_priced{.waited = setting.waited};
    const WalkOptions at_least{.waited = setting.waited, .least = true};
    passes.*delays = WalkPass(tasks, as_priced);
    least.*delays = WalkPass(tasks, at_least);
    if (plan.framework().dispatch) {
      tails.*tail = WalkTail(tasks, as_priced);
      least_tails.*tail = WalkTail(tasks, at_least);
    }
    return tasks;
  };
  const StageLayout& layout = plan.layout().stages;
  UnitTotals::Turns turns{.forward =
                              walk(&PassSet::forward, &LaunchTails::forward,
                                   PipelinePass::kForward)};
  if (layout.splits_gradients() || layout.bidirectional()) {
    walk(&PassSet::input_gradient, &LaunchTails::input_gradient,
         PipelinePass::kInputGradient);
    walk(&PassSet::weight_gradient, &LaunchTails::weight_gradient,
         PipelinePass::kWeightGradient);
  }
  if (!layout.splits_gradients()) {
    turns.backward = walk(&PassSet::backward, &LaunchTails::backward,
                          PipelinePass::kBackward);
  }
  return {
      .time = EstimateUnit(unit, plan, setting.waited),
      .passes = passes,
      .least = least,
      .tails = tails,
      .least_tails = least_tails,
      .turns = layout.bidirectional()
                   ? std::make_shared<const UnitTotals::Turns>(std::move(turns))
                   : nullptr,
      .kept = kept,
      .recomputed = KeptBytes(ops, kNoModule) - kept,
      .forward_tasks = CountTasks(ops.forward),
      .backward_tasks = CountTasks(ops.input_gradient) +
                        CountTasks(ops.weight_gradient) +
                        CountTasks(RecomputedSteps(ops, plan)),
      .calls = CallsOf(ops, plan),
      .is_layer = ops.checkpointed};
}

}  // namespace

UnitTotals KnownUnit::Totals(const TrainingPlan& plan, bool recomputes) {
  const Framework& framework = plan.framework();
  const Way way{.recompute = recomputes ? plan.recompute() : Recompute::kNone,
                .modules = recomputes ? plan.recomputed_modules() : ModuleSet(),
                .prunes = framework.prunes_recomputation,
                .splits_gradients = plan.layout().stages.splits_gradients(),
                .bidirectional = plan.layout().stages.bidirectional(),
                .overlaps_weight_gradient = plan.overlap_weight_gradient(),
                .dispatch = framework.dispatch,
                .collective_check = framework.collective_check,
                .blocking = framework.blocking_launches};
  for (const auto& [known, totals] : totals_) {
    if (known == way) return totals;
  }
  if (totals_.size() == kMostWays) totals_.clear();
  totals_.emplace_back(
      way, recomputes ? TotalsOf(priced_, plan, setting_)
                      : TotalsOf(priced_, plan.WithoutRecompute(), setting_));
  return totals_.back().second;
}

KnownUnit& UnitSet::Find(const UnitPart& part,
                         absl::FunctionRef<LayerOps()> make,
                         PriceList& prices) {
  for (const auto& [known, unit] : units_) {
    if (known == part) return *unit;
  }
  units_.emplace_back(part,
                      std::make_unique<KnownUnit>(make(), setting_, prices));
  return *units_.back().second;
}

// Some of the fields, those in which plans of a sweep differ.
size_t KnownUnits::KeyHash::operator()(const Key& key) const {
  const LayerShape& shape = key.shape;
  return absl::HashOf(shape.tensor, shape.context, shape.expert,
                      shape.groups[0].count, shape.groups[0].queries,
                      shape.precision, shape.expert_load,
                      key.setting.spans.tensor.number, key.slowness);
}

UnitSet& KnownUnits::Of(const LayerShape& shape, const UnitSetting& setting,
                        double slowness) {
  const auto [found, added] = sets_.try_emplace({shape, setting, slowness});
  if (added) found->second = std::make_unique<UnitSet>(setting);
  return *found->second;
}

const LayerKinds& KnownUnits::KindsOf(const Model& model) {
  if (!kinds_.parts.empty()) return kinds_;
  const int layers = model.layers() + model.mtp_modules();
  kinds_.of_layer.reserve(static_cast<size_t>(layers));
  for (int layer = 0; layer < layers; ++layer) {
    const UnitPart part{UnitPart::What::kLayer, model.IsMoe(layer),
                        model.Window(layer)};
    const auto found =
        std::find(kinds_.parts.begin(), kinds_.parts.end(), part);
    kinds_.of_layer.push_back(static_cast<int>(found - kinds_.parts.begin()));
    if (found == kinds_.parts.end()) kinds_.parts.push_back(part);
  }
  return kinds_;
}

void KnownUnits::Trim() {
  if (sets_.size() > kMostSets) sets_.clear();
}

}  // namespace orrery
