#include "analytic/unit_estimate.h"

#include <algorithm>

#include "base/check.h"
#include "workload/stage.h"

namespace orrery {
namespace {

CommunicationKind KindOf(ExchangeKind kind) {
  switch (kind) {
    case ExchangeKind::kAllReduce:
      return CommunicationKind::kAllReduce;
    case ExchangeKind::kAllGather:
      return CommunicationKind::kAllGather;
    case ExchangeKind::kReduceScatter:
      return CommunicationKind::kReduceScatter;
    case ExchangeKind::kAllToAll:
      return CommunicationKind::kAllToAll;
    case ExchangeKind::kRing:
      return CommunicationKind::kPointToPoint;
  }
  CHECK(false) << "no such exchange";
  return {};
}

class UnitTimer {
 public:
  UnitTimer(const KernelTimer& timer, const GroupCost& groups,
            const ExchangeSpans& spans, bool overlap, int chunks)
      : timer_(timer),
        groups_(groups),
        spans_(spans),
        overlap_(overlap),
        chunks_(chunks) {}

  double Kernel(const Op& op) const { return ToSeconds(timer_.Time(op).time); }
  double Exchange(const struct Exchange& exchange) const {
    if (exchange.route != TokenRoute::kEven) {
      CHECK(spans_.traffic.has_value());
      return groups_.ExpertTime(exchange.bytes, spans_.expert, *spans_.traffic)
          .count();
    }
    return exchange.steps * groups_
                                .Time(KindOf(exchange.kind), exchange.bytes,
                                      spans_.of(exchange.group))
                                .count();
  }

  // A list of steps along the main chain. An exchange hides behind the steps
  // beside it; the blocks of a ring behind the attention of the blocks before.
  template <class Include>
  void AddSteps(const std::vector<Step>& steps, Include include,
                PassEstimate& pass, Flops* flops = nullptr) const {
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      if (!include(step)) continue;
      if (step.op() != nullptr) {
        const OpTime time = timer_.Time(*step.op());
        pass.kernels += ToSeconds(time.time);
        if (flops != nullptr) *flops += time.flops;
        continue;
      }
      pass.exposed[static_cast<size_t>(step.exchange()->group)] +=
          Exposed(steps, i);
    }
  }

  // What is waited for of the exchange at place `i`.
  double Exposed(const std::vector<Step>& steps, size_t i) const {
    const struct Exchange& exchange = *steps[i].exchange();
    const double time = Exchange(exchange);
    if (!overlap_) return time;
    const double product = ChunkedWith(steps, i);
    if (product <= 0) return std::max(0.0, time - Beside(steps, i));
    // In n pieces: the longer of the two, and a piece of the other to begin or
    // end with.
    struct Exchange piece = exchange;
    piece.bytes = Bytes((exchange.bytes.value() + chunks_ - 1) / chunks_);
    const double pieces = chunks_ * Exchange(piece);
    return std::max(pieces, product) + std::min(pieces, product) / chunks_ -
           product;
  }

  // The product that a chunked exchange runs along with: the one after a
  // gather, the one before a reduction; 0 if there is none.
  double ChunkedWith(const std::vector<Step>& steps, size_t i) const {
    const struct Exchange& exchange = *steps[i].exchange();
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
    return Kernel(*steps[other].op());
  }

  // Kernels that run beside the exchange at place `i`.
  double Beside(const std::vector<Step>& steps, size_t i) const {
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
        beside += Kernel(*steps[k].op());
      } else {
        break;
      }
    }
    return beside;
  }

  bool overlap() const { return overlap_; }

 private:
  const KernelTimer& timer_;
  const GroupCost& groups_;
  const ExchangeSpans& spans_;
  bool overlap_;
  int chunks_;  // of tensor exchanges
};

// Weight gradients hide the exchange of their module's input gradient, and what
// they need again comes while that is computed.
void AddGradients(const UnitTimer& timer, const LayerOps& ops, bool split,
                  UnitEstimate& unit) {
  const auto all = [](const Step&) { return true; };
  timer.AddSteps(ops.input_gradient, all, unit.input_gradient);
  timer.AddSteps(ops.weight_gradient, all, unit.weight_gradient);
  if (!timer.overlap() || split) return;
  const auto kernels = [&](const std::vector<Step>& steps, int slot) {
    double sum = 0;
    for (const Step& step : steps) {
      if (step.slot == slot && step.op() != nullptr) {
        sum += timer.Kernel(*step.op());
      }
    }
    return sum;
  };
  const auto hide = [&](const std::vector<Step>& steps,
                        const std::vector<Step>& behind, PassEstimate& pass) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      if (step.exchange() == nullptr) continue;
      // Only what follows the module's own product can hide: a gather before it
      // is waited for.
      const bool first = i == 0 || steps[i - 1].slot != step.slot;
      if (&steps == &ops.input_gradient && first) continue;
      const double hidden =
          std::min(timer.Exposed(steps, i), kernels(behind, step.slot));
      double& exposed =
          pass.exposed[static_cast<size_t>(step.exchange()->group)];
      exposed = std::max(0.0, exposed - hidden);
    }
  };
  hide(ops.input_gradient, ops.weight_gradient, unit.input_gradient);
  hide(ops.weight_gradient, ops.input_gradient, unit.weight_gradient);
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

UnitEstimate EstimateUnit(const LayerOps& ops, const Plan& plan, bool overlap,
                          const KernelTimer& timer, const GroupCost& groups,
                          const ExchangeSpans& spans) {
  const int chunks = plan.overlap_tensor() ? plan.degrees().tensor : 1;
  const UnitTimer time(timer, groups, spans, overlap, chunks);
  UnitEstimate unit;
  time.AddSteps(
      ops.forward, [](const Step&) { return true; }, unit.forward);
  // Zero-bubble schedules run the two gradients apart: nothing hides behind the
  // other.
  const bool split = plan.schedule() == PipelineSchedule::kZeroBubbleH1 ||
                     plan.schedule() == PipelineSchedule::kZeroBubbleV;
  AddGradients(time, ops, split, unit);
  const bool full = plan.recompute() == Recompute::kFull;
  const ModuleSet modules = RecomputedModules(plan);
  if (full || modules != kNoModule) {
    time.AddSteps(
        ops.forward,
        [&](const Step& step) { return full || (step.modules & modules) != 0; },
        unit.input_gradient, &unit.recomputed);
  }
  return unit;
}

}  // namespace orrery
