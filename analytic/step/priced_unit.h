#pragma once
// PricedUnit: the steps of one unit of a stage (embedding, layer, head), each
// with its seconds on paper, and of an exchange what is waited for of it.
//
//   const PricedUnit unit(BuildLayer(model, layer, shape), setting, prices);
//   unit.forward.seconds;
#include <array>
#include <optional>
#include <vector>

#include "analytic/collective/group_cost.h"
#include "analytic/step/price_list.h"
#include "base/units.h"
#include "topology/traffic/dimension_set.h"
#include "workload/model/layer.h"

namespace orrery {

// Spans of the groups that a layer's exchanges run in.
struct ExchangeSpans {
  GroupSpan tensor;
  GroupSpan context;
  GroupSpan expert;
  GroupSpan expert_tensor;
  // How tokens travel in exchanges that are routed.
  std::optional<ExpertTraffic> traffic;
  // By group: how those of one pipeline lie (GroupSpans::column). Nothing where
  // all lie alike.
  std::array<std::vector<GroupSpan>, kExchangeGroups> column = {};
  const GroupSpan& of(ExchangeGroup group) const;
  friend bool operator==(const ExchangeSpans&, const ExchangeSpans&) = default;
};

// What prices depend on beside the steps.
struct UnitSetting {
  ExchangeSpans spans;
  // Exchanges of dimensions that are waited for are exposed in full.
  DimensionSet waited = {};
  // Tensor exchanges run in so many.
  int chunks = 1;
  friend bool operator==(const UnitSetting&, const UnitSetting&) = default;
};

// A list of steps with the time of each.
struct PricedSteps {
  const std::vector<LayerStep>& steps;
  std::vector<double> seconds = {};  // of the op, or of all of the exchange
  std::vector<double> least = {};    // no less (PriceList::CallPrice)
  // Of a piece of an exchange that runs in pieces.
  std::vector<double> pieces = {};
  std::vector<double> pieces_least = {};
  std::vector<Flops> flops = {};     // of the op
  std::vector<double> exposed = {};  // what is waited for of the exchange
};

// The steps must outlive the result.
PricedSteps PriceSteps(const std::vector<LayerStep>& steps,
                       const UnitSetting& setting, PriceList& prices);

struct PricedUnit {
  PricedUnit(LayerOps made, const UnitSetting& setting, PriceList& prices);
  PricedUnit(const PricedUnit&) = delete;
  PricedUnit& operator=(const PricedUnit&) = delete;

  LayerOps ops;
  // Of the lists of `ops`.
  PricedSteps forward;
  PricedSteps input_gradient;
  PricedSteps weight_gradient;
};

}  // namespace orrery
