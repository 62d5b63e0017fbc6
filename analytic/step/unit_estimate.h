#pragma once
// The time of one unit of a stage (embedding, layer, head) on paper: its ops,
// and what it waits for.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "analytic/step/price_list.h"
#include "analytic/step/priced_unit.h"
#include "topology/traffic/dimension_set.h"
#include "workload/model/layer.h"
#include "workload/plan/training_plan.h"

namespace orrery {

// Seconds of one pass of one micro-batch: kernels, and exposed communication by
// group.
struct PassEstimate {
  double kernels = 0;
  std::array<double, 4> exposed{};  // by ExchangeGroup
  // What the host needs to start it all.
  double launching = 0;

  double communication() const {
    return exposed[0] + exposed[1] + exposed[2] + exposed[3];
  }
  // The chip waits for the host so long.
  double host() const {
    return std::max(0.0, launching - kernels - communication());
  }
  double total() const { return kernels + communication() + host(); }
  PassEstimate& operator+=(const PassEstimate& other) {
    kernels += other.kernels;
    launching += other.launching;
    for (size_t i = 0; i < exposed.size(); ++i) exposed[i] += other.exposed[i];
    return *this;
  }
};

struct UnitEstimate {
  PassEstimate forward;
  PassEstimate input_gradient;  // what is computed again included
  PassEstimate weight_gradient;
  Flops recomputed;

  UnitEstimate& operator+=(const UnitEstimate& other) {
    forward += other.forward;
    input_gradient += other.input_gradient;
    weight_gradient += other.weight_gradient;
    recomputed += other.recomputed;
    return *this;
  }
  double kernels() const {
    return forward.kernels + input_gradient.kernels + weight_gradient.kernels;
  }
  double launching() const {
    return forward.launching + input_gradient.launching +
           weight_gradient.launching;
  }
  // By ExchangeGroup.
  std::array<double, 4> exposed() const {
    std::array<double, 4> sum{};
    for (const PassEstimate* pass :
         {&forward, &input_gradient, &weight_gradient}) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += pass->exposed[i];
    }
    return sum;
  }
  double backward() const {
    return input_gradient.total() + weight_gradient.total();
  }
  double total() const { return forward.total() + backward(); }
};

// The forward pass of a unit by itself: its sums, and the seconds of each step
// in the order of execution, of an exchange what is waited for.
struct ForwardEstimate {
  PassEstimate sums;
  std::vector<double> steps;
  // Of which group, if it is an exchange.
  std::vector<std::optional<ExchangeGroup>> call;
};
ForwardEstimate EstimateForward(const LayerOps& ops, const UnitSetting& setting,
                                PriceList& prices);

// `waited`: as it was priced.
UnitEstimate EstimateUnit(const PricedUnit& unit, const TrainingPlan& plan,
                          DimensionSet waited);

}  // namespace orrery
