#pragma once
// KnownUnits: units (embedding, layers, head) that were asked for before, with
// their prices. Plans that differ in their pipeline and data dimensions, in
// schedule, sharding and recomputation are made of the same.
//
//   UnitSet& set = known.Of(shape, setting, prices.slowness());
//   const PricedUnit& unit = set.Find(part, [&] { return BuildLayer(...); },
//                                     prices).priced;
//
// What comes is what PricedUnit and EstimateUnit give, to the last bit.
#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analytic/step/pass_delays.h"
#include "analytic/step/pass_tasks.h"
#include "analytic/step/price_list.h"
#include "analytic/step/priced_unit.h"
#include "analytic/step/unit_estimate.h"
#include "base/units.h"
#include "workload/model/layer_shape.h"
#include "workload/model/model.h"
#include "workload/model/module.h"
#include "workload/plan/collective_buffers.h"
#include "workload/plan/training_plan.h"

namespace orrery {

// Which unit. Layers of a kind do the same.
struct UnitPart {
  enum class What : uint8_t { kEmbedding, kLayer, kPredictionInput, kHead };
  What what = What::kLayer;
  bool moe = false;
  std::optional<int> window = std::nullopt;
  friend bool operator==(const UnitPart&, const UnitPart&) = default;
};

// The kinds of layers that a model has, prediction modules last.
struct LayerKinds {
  std::vector<UnitPart> parts;
  std::vector<int> of_layer;
};

// A unit as a plan runs it.
struct UnitTotals {
  UnitEstimate time;
  PassSet passes;
  PassSet least;  // with calls that take the least they may
  // Of hosts that run ahead alone.
  LaunchTails tails;
  LaunchTails least_tails;
  // Of passes that may take turns: of bidirectional pipelines alone.
  struct Turns {
    PassTasks forward;
    PassTasks backward = {};
  };
  std::shared_ptr<const Turns> turns;
  Bytes kept;
  Bytes recomputed;
  // Ops and exchanges of its passes.
  int forward_tasks = 0;
  int backward_tasks = 0;
  UnitCalls calls;
  // Not what stands before the first layer or after the last.
  bool is_layer = true;
};

// One unit, and its totals under the plans that were asked for.
class KnownUnit {
 public:
  // The setting must outlive the unit.
  KnownUnit(LayerOps ops, const UnitSetting& setting, PriceList& prices)
      : priced_(std::move(ops), setting, prices), setting_(setting) {}

  const LayerOps& ops() const { return priced_.ops; }
  // `recomputes`: what the plan computes again; else all is kept.
  UnitTotals Totals(const TrainingPlan& plan, bool recomputes);

 private:
  // All that totals depend on of a plan, beside its shape and setting.
  struct Way {
    Recompute recompute;
    ModuleSet modules;
    bool prunes;
    bool splits_gradients;
    bool bidirectional;
    bool overlaps_weight_gradient;
    std::optional<Duration> dispatch;
    Duration collective_check;
    bool blocking;
    friend bool operator==(const Way&, const Way&) = default;
  };

  PricedUnit priced_;
  const UnitSetting& setting_;
  std::vector<std::pair<Way, UnitTotals>> totals_;
};

// The units of one shape at one set of prices.
class UnitSet {
 public:
  explicit UnitSet(UnitSetting setting) : setting_(std::move(setting)) {}

  KnownUnit& Find(const UnitPart& part, absl::FunctionRef<LayerOps()> make,
                  PriceList& prices);

 private:
  UnitSetting setting_;
  std::vector<std::pair<UnitPart, std::unique_ptr<KnownUnit>>> units_;
};

class KnownUnits {
 public:
  // Stays until Trim(). `slowness`: that of the price list.
  UnitSet& Of(const LayerShape& shape, const UnitSetting& setting,
              double slowness);
  // Requires: always the same model.
  const LayerKinds& KindsOf(const Model& model);
  // Forgets all where they have become many.
  void Trim();

 private:
  struct Key {
    LayerShape shape;
    UnitSetting setting;
    double slowness;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  absl::flat_hash_map<Key, std::unique_ptr<UnitSet>, KeyHash> sets_;
  LayerKinds kinds_;
};

}  // namespace orrery
