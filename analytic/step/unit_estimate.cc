#include "analytic/step/unit_estimate.h"

#include <algorithm>

#include "base/check.h"
#include "workload/plan/stage.h"

namespace orrery {
namespace {

// A list of steps with the time of each.
struct PricedSteps {
  const std::vector<LayerStep>& steps;
  std::vector<double> seconds = {};  // of the op, or of all of the exchange
  std::vector<Flops> flops = {};     // of the op
  std::vector<double> exposed = {};  // what is waited for of the exchange
};

class UnitPricer {
 public:
  // Tensor exchanges run in so many chunks.
  UnitPricer(PriceList& prices, const ExchangeSpans& spans, DimensionSet waited,
             int chunks)
      : prices_(prices), spans_(spans), waited_(waited), chunks_(chunks) {}

  PricedSteps Price(const std::vector<LayerStep>& steps) {
    PricedSteps priced{steps};
    priced.seconds.reserve(steps.size());
    priced.flops.reserve(steps.size());
    for (const LayerStep& step : steps) {
      if (const Op* op = step.op()) {
        const PriceList::KernelPrice price = prices_.Kernel(*op);
        priced.seconds.push_back(price.seconds);
        priced.flops.push_back(price.flops);
      } else {
        priced.seconds.push_back(ExchangeTime(*step.exchange()));
        priced.flops.push_back({});
      }
    }
    priced.exposed.resize(steps.size());
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].exchange() != nullptr)
        priced.exposed[i] = Exposed(priced, i);
    }
    return priced;
  }

 private:
  double ExchangeTime(const Exchange& exchange) {
    if (MovesTokens(exchange.shape)) {
      CHECK(spans_.traffic.has_value());
      return prices_.ExpertCall(
          exchange.bytes, spans_.expert, *spans_.traffic,
          exchange.shape == CallShape::kTokensFromExperts);
    }
    if (exchange.kind == ExchangeKind::kRing) {
      return exchange.steps *
             prices_.RingStep(exchange.bytes, spans_.of(exchange.group));
    }
    return exchange.steps * prices_.Call(CommunicationKindOf(exchange.kind),
                                         exchange.bytes,
                                         spans_.of(exchange.group));
  }

  // What is waited for of the exchange at place `i`. It hides behind the steps
  // beside it; the blocks of a ring behind the attention of the blocks before.
  double Exposed(const PricedSteps& list, size_t i) {
    const double time = list.seconds[i];
    if (waited_.Has(DimensionOf(list.steps[i].exchange()->group))) return time;
    const double product = ChunkedWith(list, i);
    if (product <= 0) return std::max(0.0, time - Beside(list, i));
    // In n pieces: the longer of the two, and a piece of the other to begin or
    // end with.
    Exchange piece = *list.steps[i].exchange();
    piece.bytes = Bytes((piece.bytes.value() + chunks_ - 1) / chunks_);
    const double pieces = chunks_ * ExchangeTime(piece);
    return std::max(pieces, product) + std::min(pieces, product) / chunks_ -
           product;
  }

  // The product that a chunked exchange runs along with: the one after a
  // gather, the one before a reduction; 0 if there is none.
  double ChunkedWith(const PricedSteps& list, size_t i) const {
    const std::vector<LayerStep>& steps = list.steps;
    const Exchange& exchange = *steps[i].exchange();
    if (chunks_ == 1 || exchange.group != ExchangeGroup::kTensor ||
        exchange.kind == ExchangeKind::kAllToAll || steps[i].beside_exchange) {
      return 0;
    }
    const bool gathers = exchange.kind == ExchangeKind::kAllGather;
    const size_t other = gathers ? i + 1 : i - 1;
    if (other >= steps.size() || steps[other].op() == nullptr ||
        steps[other].beside_exchange) {
      return 0;
    }
    return list.seconds[other];
  }

  // Kernels that run beside the exchange at place `i`.
  static double Beside(const PricedSteps& list, size_t i) {
    const std::vector<LayerStep>& steps = list.steps;
    double beside = 0;
    int blocks = steps[i].exchange()->kind == ExchangeKind::kRing
                     ? steps[i].exchange()->steps
                     : 0;
    for (size_t k = i + 1; k < steps.size(); ++k) {
      if (steps[k].op() == nullptr) {
        if (steps[k].beside_exchange) continue;
        break;
      }
      if (steps[k].beside_exchange || blocks > 1) {
        if (!steps[k].beside_exchange) --blocks;
        beside += list.seconds[k];
      } else {
        break;
      }
    }
    return beside;
  }

  PriceList& prices_;
  const ExchangeSpans& spans_;
  DimensionSet waited_;
  int chunks_;
};

// A list of steps along the main chain.
template <class Include>
void AddSteps(const PricedSteps& list, Include include, PassEstimate& pass,
              Flops* flops = nullptr) {
  for (size_t i = 0; i < list.steps.size(); ++i) {
    const LayerStep& step = list.steps[i];
    if (!include(step)) continue;
    if (step.op() != nullptr) {
      pass.kernels += list.seconds[i];
      if (flops != nullptr) *flops += list.flops[i];
      continue;
    }
    pass.exposed[static_cast<size_t>(step.exchange()->group)] +=
        list.exposed[i];
  }
}

double KernelsOfModule(const PricedSteps& list, int module_index) {
  double sum = 0;
  for (size_t i = 0; i < list.steps.size(); ++i) {
    const LayerStep& step = list.steps[i];
    if (step.module_index == module_index && step.op() != nullptr)
      sum += list.seconds[i];
  }
  return sum;
}

// Exchanges of `list` hide behind the kernels of `behind` in the same module.
// `after_own`: only those that follow the module's own product; a gather before
// it is waited for.
void Hide(const PricedSteps& list, const PricedSteps& behind, bool after_own,
          DimensionSet waited, PassEstimate& pass) {
  for (size_t i = 0; i < list.steps.size(); ++i) {
    const LayerStep& step = list.steps[i];
    if (step.exchange() == nullptr ||
        waited.Has(DimensionOf(step.exchange()->group))) {
      continue;
    }
    const bool first =
        i == 0 || list.steps[i - 1].module_index != step.module_index;
    if (after_own && first) continue;
    const double hidden =
        std::min(list.exposed[i], KernelsOfModule(behind, step.module_index));
    double& exposed = pass.exposed[static_cast<size_t>(step.exchange()->group)];
    exposed = std::max(0.0, exposed - hidden);
  }
}

}  // namespace

const GroupSpan& ExchangeSpans::of(ExchangeGroup group) const {
  switch (group) {
    case ExchangeGroup::kTensor:
      return tensor;
    case ExchangeGroup::kContext:
      return context;
    case ExchangeGroup::kExpert:
      return expert;
    case ExchangeGroup::kExpertTensor:
      return expert_tensor;
  }
  CHECK(false) << "no such group";
  return tensor;
}

PassEstimate& PassEstimate::operator+=(const PassEstimate& other) {
  kernels += other.kernels;
  launching += other.launching;
  for (size_t i = 0; i < exposed.size(); ++i) exposed[i] += other.exposed[i];
  return *this;
}

UnitEstimate& UnitEstimate::operator+=(const UnitEstimate& other) {
  forward += other.forward;
  input_gradient += other.input_gradient;
  weight_gradient += other.weight_gradient;
  recomputed += other.recomputed;
  return *this;
}

ForwardEstimate EstimateForward(const LayerOps& ops, DimensionSet waited,
                                PriceList& prices, const ExchangeSpans& spans) {
  UnitPricer pricer(prices, spans, waited, /*chunks=*/1);
  const PricedSteps priced = pricer.Price(ops.forward);
  ForwardEstimate estimate;
  AddSteps(
      priced, [](const LayerStep&) { return true; }, estimate.sums);
  for (size_t i = 0; i < ops.forward.size(); ++i) {
    const Exchange* exchange = ops.forward[i].exchange();
    if (exchange == nullptr) {
      estimate.steps.push_back(priced.seconds[i]);
      estimate.call.push_back(std::nullopt);
      continue;
    }
    // The blocks of a ring are started one by one.
    for (int block = 0; block < exchange->steps; ++block) {
      estimate.steps.push_back(priced.exposed[i] / exchange->steps);
      estimate.call.push_back(exchange->group);
    }
  }
  return estimate;
}

UnitEstimate EstimateUnit(const LayerOps& ops, const TrainingPlan& plan,
                          DimensionSet waited, PriceList& prices,
                          const ExchangeSpans& spans) {
  const auto all = [](const LayerStep&) { return true; };
  const int chunks = plan.overlap_tensor() ? plan.degrees().tensor : 1;
  UnitPricer pricer(prices, spans, waited, chunks);
  const PricedSteps forward = pricer.Price(ops.forward);
  const PricedSteps inputs = pricer.Price(ops.input_gradient);
  const PricedSteps weights = pricer.Price(ops.weight_gradient);
  UnitEstimate unit;
  AddSteps(forward, all, unit.forward);
  AddSteps(inputs, all, unit.input_gradient);
  AddSteps(weights, all, unit.weight_gradient);
  // Zero-bubble schedules run the two gradients apart: nothing hides behind the
  // other. Nor does it if the plan has them wait.
  const bool apart = plan.layout().stages.splits_gradients() ||
                     !plan.overlap_weight_gradient();
  if (!apart) {
    // Weight gradients hide the exchange of their module's input gradient, and
    // what they need again comes while that is computed.
    Hide(inputs, weights, /*after_own=*/true, waited, unit.input_gradient);
    Hide(weights, inputs, /*after_own=*/false, waited, unit.weight_gradient);
  }
  if (ops.checkpointed && plan.recompute() != Recompute::kNone) {
    AddSteps(
        forward, [&](const LayerStep& step) { return RunsAgain(step, plan); },
        unit.input_gradient, &unit.recomputed);
  }
  if (const auto dispatch = plan.framework().dispatch) {
    const auto host = [&](const std::vector<LayerStep>& steps) {
      return ToSeconds(*dispatch) * static_cast<double>(CountLaunches(steps));
    };
    const double forward_s = host(ops.forward);
    const double inputs_s =
        host(ops.input_gradient) + host(RecomputedSteps(ops, plan));
    const double weights_s = host(ops.weight_gradient);
    if (plan.framework().blocking_launches) {
      unit.forward.kernels += forward_s;
      unit.input_gradient.kernels += inputs_s;
      unit.weight_gradient.kernels += weights_s;
    } else {
      unit.forward.launching = forward_s;
      unit.input_gradient.launching = inputs_s;
      unit.weight_gradient.launching = weights_s;
    }
  }
  return unit;
}

}  // namespace orrery
