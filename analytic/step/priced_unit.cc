#include "analytic/step/priced_unit.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace orrery {
namespace {

class UnitPricer {
 public:
  UnitPricer(PriceList& prices, const UnitSetting& setting)
      : prices_(prices),
        spans_(setting.spans),
        waited_(setting.waited),
        chunks_(setting.chunks) {}

  PricedSteps Price(const std::vector<LayerStep>& steps) {
    PricedSteps priced{steps};
    priced.seconds.reserve(steps.size());
    priced.least.reserve(steps.size());
    priced.flops.reserve(steps.size());
    for (const LayerStep& step : steps) {
      if (const Op* op = step.op()) {
        const PriceList::KernelPrice price = prices_.Kernel(*op);
        priced.seconds.push_back(price.seconds);
        priced.least.push_back(price.seconds);
        priced.flops.push_back(price.flops);
      } else {
        const PriceList::CallPrice price = ExchangePrice(*step.exchange());
        priced.seconds.push_back(price.seconds);
        priced.least.push_back(price.least);
        priced.flops.push_back({});
      }
    }
    if (chunks_ > 1) AddPieces(priced);
    priced.exposed.resize(steps.size());
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].exchange() != nullptr)
        priced.exposed[i] = Exposed(priced, i);
    }
    return priced;
  }

 private:
  // What exchanges take if they run in pieces.
  void AddPieces(PricedSteps& priced) {
    for (const LayerStep& step : priced.steps) {
      PriceList::CallPrice price;
      if (step.exchange() != nullptr) price = PiecePrice(*step.exchange());
      priced.pieces.push_back(price.seconds);
      priced.pieces_least.push_back(price.least);
    }
  }

  PriceList::CallPrice PiecePrice(Exchange exchange) {
    if (exchange.group != ExchangeGroup::kTensor ||
        exchange.kind == ExchangeKind::kAllToAll) {
      return {};
    }
    exchange.bytes = Bytes((exchange.bytes.value() + chunks_ - 1) / chunks_);
    return ExchangePrice(exchange);
  }

  PriceList::CallPrice ExchangePrice(const Exchange& exchange) {
    PriceList::CallPrice price =
        PriceAmong(exchange, spans_.of(exchange.group));
    for (const GroupSpan& span :
         spans_.column[static_cast<size_t>(exchange.group)]) {
      price.least = std::min(price.least, PriceAmong(exchange, span).least);
    }
    return price;
  }
  PriceList::CallPrice PriceAmong(const Exchange& exchange,
                                  const GroupSpan& span) {
    if (MovesTokens(exchange.shape)) {
      CHECK(spans_.traffic.has_value());
      return prices_.ExpertCall(
          exchange.bytes, span, *spans_.traffic,
          exchange.shape == CallShape::kTokensFromExperts);
    }
    PriceList::CallPrice price =
        exchange.kind == ExchangeKind::kRing
            ? prices_.RingStep(exchange.bytes, span)
            : prices_.PriceOf(CommunicationKindOf(exchange.kind),
                              exchange.bytes, span);
    price.seconds *= exchange.steps;
    price.least *= exchange.steps;
    return price;
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
    const double pieces = chunks_ * list.pieces[i];
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

PricedSteps PriceSteps(const std::vector<LayerStep>& steps,
                       const UnitSetting& setting, PriceList& prices) {
  return UnitPricer(prices, setting).Price(steps);
}

PricedUnit::PricedUnit(LayerOps made, const UnitSetting& setting,
                       PriceList& prices)
    : ops(std::move(made)),
      forward(PriceSteps(ops.forward, setting, prices)),
      input_gradient(PriceSteps(ops.input_gradient, setting, prices)),
      weight_gradient(PriceSteps(ops.weight_gradient, setting, prices)) {}

}  // namespace orrery
